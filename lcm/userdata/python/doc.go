// Package python runs Python files of VNF packages, which are as hostile as anything from outside, in a confined process.
//
//	runner := python.NewRunner(python.Config{})
//	parameters, err := runner.Run(ctx, script, call)
//
// Each run has a process of its own that ends with it: the host's python3, started without environment and without its start-up files.
// It begins with our own bootstrap (bootstrap/), which reads the task from its standard input, gives up everything that computing does
// not need, and only then imports the package's file. The layers, of which none relies on another:
//
//   - a filter of system calls (seccomp.go) knows what computing needs and refuses the rest: no sockets, processes, threads or signals,
//     no program is executed, nothing is opened for writing. Without it nothing is run.
//   - Landlock leaves of the file system the package's Python tree and the interpreter's own files; as root the process has an account of
//     its own as well. Without either nothing is run.
//   - limits of memory, processor time, open files and of what is printed or answered; the whole process group is killed after the time limit.
//   - namespaces of its own (network, processes, mounts, IPC) where the host gives them; in containers it often does not.
//
// What a class imports from tacker.vnfm.lcm_user_data is in modules/, written for this server.
package python
