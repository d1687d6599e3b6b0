// Package telemetry measures what the server does, for Prometheus, and traces it, for OpenTelemetry. Nothing else knows of either: what is
// measured has hooks, and methods of [Telemetry] fit them.
//
//	t := telemetry.New(version)
//	err := t.Trace(ctx, options, logger)
//	heat.New(heat.Config{Observe: t.VimCall})
//	lcm.NewEngine(…, lcm.EngineConfig{Observer: t})
//	t.Watch(ctx, database)
//	server.New(server.Config{Telemetry: t})
//	t.Close(ctx)
//
// Labels are of bounded sets: words of the standard, routes, names of services, steps and drivers. Nothing that a client makes up is one.
package telemetry
