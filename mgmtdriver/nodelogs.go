package mgmtdriver

// NodeLogs show people what jobs write on the nodes that a driver works on, such as an installation, while they run and after a failure. All
// server processes show the same.
type NodeLogs interface {
	// Show replaces what is shown of a node. It may be called at any time and by many goroutines, and costs nothing.
	Show(log NodeLog)
}

// NodeLog is what a job has written last on a node.
type NodeLog struct {
	Node   string // with its address
	VnfcID string // "" = the node is no VNFC
	Job    string // what is done, such as install
	State  JobState
	// Lines returns the last lines, without secrets. It is called after the step has returned, which may learn secrets from what it reads; of
	// many or long lines the end is shown.
	Lines func() string
}

// JobState is how a job is getting on, as it was seen last.
type JobState string

// The states of a job.
const (
	JobRunning JobState = "RUNNING"
	JobDone    JobState = "DONE"
	JobFailed  JobState = "FAILED"
)
