// Command inventory-driver is an example of a management driver as a program of its own: it keeps an Ansible inventory file for every
// VNF, with a group for each VDU, so that playbooks always find the VMs that there are.
//
// The server starts the program without arguments. A script tells it where to write:
//
//	#!/bin/sh
//	exec /opt/inventory-driver -dir /srv/inventories
//
// and is given to the server with --mgmt-driver inventory=/opt/inventory-driver.sh. docs/management-drivers.md describes the documents
// that the program reads and writes; it needs nothing of the server's code.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// request is what this driver reads of the server's document.
type request struct {
	Call, Hook, Step string
	Operation        struct{ AdditionalParams map[string]any }
	Instance         struct {
		ID, Name         string
		AdditionalParams map[string]any
	}
	After []vnfc
}

type vnfc struct {
	ID, VduID, Zone string
	Ports           []struct {
		Name      string
		Floating  bool
		Addresses []string
	}
}

// answer is what this driver writes.
type answer struct {
	Protocol  int                 `json:"protocol,omitempty"`
	Hooks     map[string][]string `json:"hooks,omitempty"`
	Check     bool                `json:"check,omitempty"`
	Result    string              `json:"result,omitempty"`
	Attribute string              `json:"attribute,omitempty"`
	Detail    string              `json:"detail,omitempty"`
}

func main() {
	log.SetFlags(0)
	dir := flag.String("dir", "", "directory of the inventory files")
	flag.Parse()
	var asked request
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		log.Fatalf("read request: %v", err)
	}
	given, err := reply(*dir, &asked)
	if err != nil {
		log.Fatal(err) // the server tells its clients what is written here
	}
	if err := json.NewEncoder(os.Stdout).Encode(given); err != nil {
		log.Fatal(err)
	}
}

func reply(dir string, asked *request) (*answer, error) {
	file := filepath.Join(dir, filepath.Base(asked.Instance.ID)+".ini")
	switch {
	case asked.Call == "describe":
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("-dir %q is not a directory", dir)
		}
		return describe(), nil
	case asked.Call == "check":
		return check(asked), nil
	case asked.Step == "remove":
		if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		return &answer{Result: "done"}, nil
	case asked.Step == "write":
		return &answer{Result: "done"}, write(file, asked)
	}
	return nil, fmt.Errorf("unknown call %q, step %q", asked.Call, asked.Step)
}

// describe tells the server at which hooks there is something to do. Before members go they are taken out of the file; after others
// have come these are added.
func describe() *answer {
	hooks := map[string][]string{"terminate_end": {"remove"}}
	for _, hook := range []string{
		"instantiate_end", "scale_start", "scale_end", "scale_to_level_start", "scale_to_level_end", "heal_start", "heal_end",
		"change_external_connectivity_end", "change_flavour_end",
	} {
		hooks[hook] = []string{"write"}
	}
	return &answer{Protocol: 1, Check: true, Hooks: hooks}
}

var userName = regexp.MustCompile(`^[a-z_][a-z0-9_-]{0,31}$`)

// user is the account that playbooks are to use; it is written into the file, so it must be a name and nothing else.
func user(params map[string]any) (name string, ok bool) {
	value, given := params["inventory_user"]
	name, _ = value.(string)
	return name, !given || userName.MatchString(name)
}

func check(asked *request) *answer {
	if _, ok := user(asked.Operation.AdditionalParams); !ok {
		return &answer{Result: "invalid", Attribute: "/additionalParams/inventory_user", Detail: "must be the name of an account"}
	}
	return &answer{Result: "done"}
}

// write replaces the file as a whole: doing it twice is doing it once.
func write(file string, asked *request) error {
	groups := map[string][]vnfc{}
	for _, vnfc := range asked.After {
		groups[vnfc.VduID] = append(groups[vnfc.VduID], vnfc)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "# VNF instance %s\n", asked.Instance.ID)
	for _, vdu := range slices.Sorted(maps.Keys(groups)) {
		fmt.Fprintf(&text, "\n[%s]\n", vdu)
		for _, vnfc := range groups[vdu] {
			fmt.Fprintf(&text, "%s ansible_host=%s zone=%s\n", vnfc.ID, address(&vnfc), vnfc.Zone)
		}
	}
	if name, _ := user(asked.Instance.AdditionalParams); name != "" {
		fmt.Fprintf(&text, "\n[all:vars]\nansible_user=%s\n", name)
	}
	part, err := os.CreateTemp(filepath.Dir(file), ".part-")
	if err != nil {
		return err
	}
	defer os.Remove(part.Name())
	if _, err := io.WriteString(part, text.String()); err != nil {
		return err
	}
	if err := part.Close(); err != nil {
		return err
	}
	return os.Rename(part.Name(), file)
}

// address is the floating IP address of a VNFC, or else the first one.
func address(of *vnfc) string {
	first := ""
	for _, port := range of.Ports {
		for _, address := range port.Addresses {
			if port.Floating {
				return address
			}
			if first == "" {
				first = address
			}
		}
	}
	return first
}
