package lcm

import "time"

// Load is what there is to do in the database as a whole, for all processes on it together.
type Load struct {
	Operations     []OperationCount // that are not over
	Queues         []QueueLoad      // those in which something waits
	Deliveries     int              // of notifications to consumers, that have not arrived; counted up to 100,000
	OldestDelivery time.Duration    // how long the oldest of them has waited
}

// OperationCount is the number of operations of a type in a state.
type OperationCount struct {
	Type  OperationType
	State OperationState
	Count int
}

// QueueLoad is what waits for a free worker, of any process.
type QueueLoad struct {
	Queue  string
	Jobs   int
	Oldest time.Duration // how long the oldest one has waited
}

// Connections are those of one process to the database.
type Connections struct {
	Pool        string
	Max         int
	InUse, Idle int
	Waits       int64 // times that somebody has waited for one
	WaitTime    time.Duration
}
