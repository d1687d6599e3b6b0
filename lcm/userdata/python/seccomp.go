package python

import (
	"encoding/binary"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// plain are the system calls that a computing Python needs, on every architecture. What is not here is refused with EPERM, or with the
// error that makes the C library go another way.
var plain = []uint32{
	unix.SYS_READ, unix.SYS_READV, unix.SYS_PREAD64, unix.SYS_WRITE, unix.SYS_WRITEV, unix.SYS_LSEEK,
	unix.SYS_CLOSE, unix.SYS_CLOSE_RANGE, unix.SYS_DUP, unix.SYS_DUP3, unix.SYS_PIPE2,
	unix.SYS_FSTAT, unix.SYS_NEWFSTATAT, unix.SYS_STATX, unix.SYS_FACCESSAT, unix.SYS_FACCESSAT2, unix.SYS_READLINKAT,
	unix.SYS_GETDENTS64, unix.SYS_GETCWD, unix.SYS_CHDIR, unix.SYS_FCHDIR, unix.SYS_UMASK,
	unix.SYS_MMAP, unix.SYS_MPROTECT, unix.SYS_MUNMAP, unix.SYS_MREMAP, unix.SYS_MADVISE, unix.SYS_BRK, unix.SYS_MEMBARRIER,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
	unix.SYS_PPOLL, unix.SYS_PSELECT6, unix.SYS_FUTEX, unix.SYS_SET_ROBUST_LIST, unix.SYS_SET_TID_ADDRESS, unix.SYS_RSEQ,
	unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_GETPID, unix.SYS_GETPPID, unix.SYS_GETTID,
	unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID, unix.SYS_GETRUSAGE, unix.SYS_TIMES,
	unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_GETRES, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_NANOSLEEP, unix.SYS_GETTIMEOFDAY,
	unix.SYS_GETRANDOM, unix.SYS_SYSINFO, unix.SYS_UNAME, unix.SYS_EXIT, unix.SYS_EXIT_GROUP,
}

// Offsets in struct seccomp_data. Arguments are read by their lower half, all that these system calls use of them; both supported
// architectures are little-endian.
const (
	offsetNumber       = 0
	offsetArchitecture = 4
	offsetArguments    = 16
)

// writing are the flags of open that do more than reading.
const writing = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC | unix.O_APPEND | (unix.O_TMPFILE &^ unix.O_DIRECTORY)

// assembler puts a BPF program together.
type assembler struct{ code []unix.SockFilter }

func (a *assembler) emit(code uint16, k uint32, ifTrue, ifFalse uint8) {
	a.code = append(a.code, unix.SockFilter{Code: code, Jt: ifTrue, Jf: ifFalse, K: k})
}

func (a *assembler) load(offset uint32)   { a.emit(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset, 0, 0) }
func (a *assembler) answer(action uint32) { a.emit(unix.BPF_RET|unix.BPF_K, action, 0, 0) }

func refuse(errno syscall.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }

// on answers a system call in the same way whatever its arguments.
func (a *assembler) on(number, action uint32) {
	a.emit(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, number, 0, 1)
	a.answer(action)
}

// onValue allows a system call if an argument is one of some values.
func (a *assembler) onValue(number uint32, argument uint32, values ...uint32) {
	a.emit(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, number, 0, uint8(2+2*len(values)))
	a.load(offsetArguments + 8*argument)
	for _, value := range values {
		a.on(value, unix.SECCOMP_RET_ALLOW)
	}
	a.answer(refuse(unix.EPERM))
}

// onOpen allows a system call unless its flags are those of writing.
func (a *assembler) onOpen(number uint32, argument uint32) {
	a.emit(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, number, 0, 4)
	a.load(offsetArguments + 8*argument)
	a.emit(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, writing, 0, 1)
	a.answer(refuse(unix.EROFS))
	a.answer(unix.SECCOMP_RET_ALLOW)
}

// filter returns the program, as the kernel reads it; nil on an architecture that is not supported.
func filter() []byte {
	if architecture == 0 {
		return nil
	}
	a := &assembler{}
	a.load(offsetArchitecture)
	a.emit(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, architecture, 1, 0)
	a.answer(unix.SECCOMP_RET_KILL_PROCESS)
	a.load(offsetNumber)
	for _, number := range slices.Concat(plain, plainHere) {
		a.on(number, unix.SECCOMP_RET_ALLOW)
	}
	a.onOpen(unix.SYS_OPENAT, 2)
	if openHere != noCall {
		a.onOpen(openHere, 1)
	}
	// Another process's limits could be changed, and it could be signalled through the owner of a descriptor.
	a.onValue(unix.SYS_PRLIMIT64, 0, 0)
	a.onValue(unix.SYS_FCNTL, 1, unix.F_DUPFD, unix.F_DUPFD_CLOEXEC, unix.F_GETFD, unix.F_SETFD, unix.F_GETFL)
	a.on(unix.SYS_IOCTL, refuse(unix.ENOTTY))
	a.on(unix.SYS_OPENAT2, refuse(unix.ENOSYS))
	a.on(unix.SYS_CLONE3, refuse(unix.ENOSYS))
	a.answer(refuse(unix.EPERM))
	var program []byte
	for _, instruction := range a.code {
		program = binary.LittleEndian.AppendUint16(program, instruction.Code)
		program = append(program, instruction.Jt, instruction.Jf)
		program = binary.LittleEndian.AppendUint32(program, instruction.K)
	}
	return program
}

// noCall is the number of no system call.
const noCall = ^uint32(0)
