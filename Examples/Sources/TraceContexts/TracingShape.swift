// The examples don't link swift-distributed-tracing, so that they build without a network. This file replaces it: it
// declares the parts of its modules `Instrumentation` and `ServiceContextModule` that the recipe needs, as in version 1.
// In an application, delete this file and write `import Instrumentation` in TraceContext.swift instead; nothing else
// changes.

/// The values that a task passes on.
package struct ServiceContext: Sendable {
    @TaskLocal package static var current: ServiceContext?

    /// With the real library, a value under a key of the tracer.
    package var span: String?

    package init(span: String? = nil) {
        self.span = span
    }
}

/// Writes a value into a carrier, such as the headers of a request.
package protocol Injector: Sendable {
    associatedtype Carrier: Sendable
    func inject(_ value: String, forKey key: String, into carrier: inout Carrier)
}

/// Passes a context on to other services. A tracer is one.
package protocol Instrument: Sendable {
    func inject<Carrier, Inject>(_ context: ServiceContext, into carrier: inout Carrier, using injector: Inject)
    where Inject: Injector, Inject.Carrier == Carrier
}

package enum InstrumentationSystem {
    /// The instrument of the process. With the real library, it is set by `bootstrap`.
    package static let instrument: any Instrument = HeaderTracer()
}

private struct HeaderTracer: Instrument {
    func inject<Carrier, Inject>(_ context: ServiceContext, into carrier: inout Carrier, using injector: Inject)
    where Inject: Injector, Inject.Carrier == Carrier {
        if let span = context.span { injector.inject(span, forKey: "traceparent", into: &carrier) }
    }
}
