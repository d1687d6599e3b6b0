// Package notify tells subscribers what happens to VNF instances and VNF packages: the subscriptions and notifications of SOL003 v2.6.1,
// clauses 5.4.18 to 5.4.20 and 10.4.7 to 10.4.9.
//
// What happens becomes an [Event] in the very transaction in which it happens, and a delivery for every subscription that wants it. A
// [Sender] in every process takes deliveries and sends them: at least once, and for one resource in the order of its changes.
//
//	registry.Create(ctx, subscription)            // server
//	notify.OfOperation(operation, instance)       // store, in the transaction that changes the operation
//	sender.Run(ctx)                               // main
package notify
