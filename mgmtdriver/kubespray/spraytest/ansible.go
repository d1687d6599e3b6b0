package spraytest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"vnfm/mgmtdriver/ssh/sshtest"
)

const (
	playbook = "/usr/bin/ansible-playbook"
)

// Ansible returns what plays the commands of the Ansible server.
func (w *World) Ansible() sshtest.Handler {
	play := sshtest.Linux(w.ansible)
	return func(ctx context.Context, s *sshtest.Session) int {
		w.mu.Lock()
		w.server = s.Machine
		w.mu.Unlock()
		status := play(ctx, s)
		if len(s.Argv) > 4 && status == 0 {
			w.keep(s.Argv[3], s.Argv[4])
		}
		return status
	}
}

// keep notes which jobs Ansible servers keep.
func (w *World) keep(script, job string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch script {
	case "vnfm-start":
		w.kept[job] = true
	case "vnfm-clean":
		delete(w.kept, job)
	}
}

func (w *World) ansible(ctx context.Context, s *sshtest.Session) int {
	if s.Argv[0] == playbook {
		return w.run(ctx, s)
	}
	if len(s.Argv) < 5 || s.Argv[0] != "sh" || s.Argv[1] != "-c" || s.Root {
		w.surprise("Ansible server: nobody plays %q (root: %t)", s.Argv, s.Root)
		return 127
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch name, args := s.Argv[3], s.Argv[4:]; name {
	case "kubespray-ready":
		return w.ready(s, args[1], args[2])
	case "kubespray-claim":
		if w.claimed[args[1]] != args[2] {
			w.claimed[args[1]] = args[2]
			return exit(s, s.Machine.MkdirAll(args[1]))
		}
		return 0
	case "kubespray-ours":
		if w.claimed[args[1]] == args[2] {
			_, _ = fmt.Fprintln(s.Stdout, "ours")
		}
		return 0
	case "kubespray-release":
		w.release(s, args[1], args[2])
		return 0
	case "kubespray-shred":
		for _, file := range s.Machine.List(args[0]) {
			if strings.HasPrefix(file, ".vnfm-sealed-"+args[1]+"-") {
				_ = s.Machine.Remove(args[0] + "/" + file)
			}
		}
		return 0
	case "kubespray-forget":
		w.known = slices.DeleteFunc(w.known, func(host string) bool { return slices.Contains(args, host) })
		return 0
	default:
		w.surprises = append(w.surprises, fmt.Sprintf("Ansible server: nobody plays %q", name))
		return 127
	}
}

func (w *World) ready(s *sshtest.Session, directory, instance string) int {
	reason := w.options.Missing
	if owner, taken := w.claimed[directory]; taken && owner != instance && reason == "" {
		reason = "The transferring_inventory_path has exists in kubespray server. Please check your path: " + directory
	}
	if reason != "" {
		_, _ = fmt.Fprintln(s.Stderr, reason)
		return 65
	}
	_, _ = fmt.Fprintln(s.Stdout, playbook+"\nfacts.yml")
	return 0
}

func (w *World) release(s *sshtest.Session, directory, instance string) {
	if w.claimed[directory] != instance {
		return
	}
	for _, file := range s.Machine.List(directory) {
		_ = s.Machine.Remove(directory + "/" + file)
	}
	delete(w.claimed, directory)
}

// arguments are those of ansible-playbook.
type arguments struct {
	inventory, limit, book string
	files                  []string
	vars                   map[string]any
	plain                  []string // what is left when the inventory and the files are taken away
}

func readArguments(argv []string) (*arguments, error) {
	a := &arguments{vars: map[string]any{}}
	fixed := []string{"--become", "--become-user=root", "--vault-password-file=/dev/stdin"}
	for i := 0; i < len(argv); i++ {
		word := argv[i]
		switch {
		case word == "-i" && i+1 < len(argv):
			i++
			a.inventory = argv[i]
		case word == "-e" && i+1 < len(argv):
			i++
			value := argv[i]
			if file, ok := strings.CutPrefix(value, "@"); ok {
				a.files = append(a.files, file)
				continue
			}
			a.plain = append(a.plain, value)
			if strings.HasPrefix(value, "{") {
				if err := json.Unmarshal([]byte(value), &a.vars); err != nil {
					return nil, err
				}
				continue
			}
			name, text, _ := strings.Cut(value, "=")
			a.vars[name] = text
		case strings.HasPrefix(word, "--limit="):
			a.limit = strings.TrimPrefix(word, "--limit=")
			a.plain = append(a.plain, word)
		case slices.Contains(fixed, word):
			fixed = slices.DeleteFunc(fixed, func(known string) bool { return known == word })
		case strings.HasSuffix(word, ".yml") && a.book == "":
			a.book = word
		default:
			return nil, fmt.Errorf("nobody knows the argument %q", word)
		}
	}
	if len(fixed) > 0 || len(a.files) != 2 || a.inventory == "" || a.book == "" {
		return nil, fmt.Errorf("missing: %q of %q", fixed, argv)
	}
	return a, nil
}

// run plays a playbook: it logs in to the hosts with what the inventory says, and does with them what kubespray would.
func (w *World) run(ctx context.Context, s *sshtest.Session) int {
	a, err := readArguments(s.Argv[1:])
	if err != nil {
		w.surprise("ansible-playbook: %v", err)
		return 2
	}
	password, _ := io.ReadAll(s.Stdin)
	w.mu.Lock()
	w.runs = append(w.runs, strings.Join(append([]string{a.book}, a.plain...), " "))
	w.passwords = append(w.passwords, strings.TrimSpace(string(password)))
	w.busy++
	if w.busy > 1 {
		w.surprises = append(w.surprises, "two playbooks run at the same time")
	}
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.busy--
	}()
	hosts, err := w.readHosts(s.Machine, a, strings.TrimSpace(string(password)))
	if err != nil {
		_, _ = fmt.Fprintln(s.Stderr, "ERROR! "+err.Error())
		return 4
	}
	_, _ = fmt.Fprintf(s.Stdout, "\nPLAY [%s of kubespray] ***\n\nTASK [%s : main] ***\n", a.book, strings.TrimSuffix(a.book, ".yml"))
	timer := time.NewTimer(w.options.PlayTimes[a.book])
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return 137
	}
	return w.work(ctx, s, a, hosts)
}

// work is what a playbook does with hosts.
func (w *World) work(ctx context.Context, s *sshtest.Session, a *arguments, hosts map[string]*host) int {
	targets := slices.Sorted(func(yield func(string) bool) {
		for name := range hosts {
			if !yield(name) {
				return
			}
		}
	})
	switch {
	case a.limit != "":
		targets = strings.Split(a.limit, ",")
	case a.book == "remove-node.yml":
		targets = strings.Split(fmt.Sprint(a.vars["node"]), ",")
	}
	fault, failed, unreachable := w.fault(a.book), map[string]bool{}, map[string]bool{}
	reset := a.vars["reset_nodes"] != false
	for _, name := range targets {
		h := hosts[name]
		if h == nil {
			_, _ = fmt.Fprintf(s.Stderr, "ERROR! Could not match supplied host pattern, ignoring: %s\n", name)
			return 1
		}
		if a.book == "remove-node.yml" && !reset {
			continue
		}
		if err := h.login(ctx); err != nil {
			unreachable[name] = true
			_, _ = fmt.Fprintf(s.Stdout, "fatal: [%s]: UNREACHABLE! => {\"changed\": false, \"msg\": %q, \"unreachable\": true}\n", name, "Failed to connect to the host via ssh: "+err.Error())
		} else if fault != nil && (fault.Host == name || fault.Host == "") {
			failed[name] = true
			_, _ = fmt.Fprintf(s.Stdout, "fatal: [%s]: FAILED! => {\"changed\": false, \"msg\": %q}\n", name, fault.Message)
		}
	}
	if len(failed)+len(unreachable) == 0 {
		if err := w.act(a, targets, hosts, reset); err != nil {
			failed[targets[0]] = true
			_, _ = fmt.Fprintf(s.Stdout, "fatal: [%s]: FAILED! => {\"changed\": false, \"msg\": %q}\n", targets[0], err.Error())
		}
	}
	_, _ = fmt.Fprintln(s.Stdout, "\nPLAY RECAP ***")
	for _, name := range targets {
		_, _ = fmt.Fprintf(s.Stdout, "%-26s : ok=3    changed=1    unreachable=%d    failed=%d    skipped=0    rescued=0    ignored=0\n", name,
			map[bool]int{true: 1}[unreachable[name]], map[bool]int{true: 1}[failed[name]])
	}
	if len(unreachable) > 0 {
		return 4
	}
	return 2 * min(len(failed), 1)
}
