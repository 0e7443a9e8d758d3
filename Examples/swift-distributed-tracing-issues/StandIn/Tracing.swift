// A stand-in for the module `Tracing` of swift-distributed-tracing 1, with the declarations that
// the recipe and its tests use. Package.swift describes how to replace it.

/// The values that are propagated with a task.
public struct ServiceContext: Sendable {
    @TaskLocal public static var current: ServiceContext?

    /// In the real library, the tracer stores this value under a key of its own.
    public var span: String?

    public init(span: String? = nil) {
        self.span = span
    }
}

/// Writes a value into a carrier, such as the headers of a request.
public protocol Injector: Sendable {
    associatedtype Carrier: Sendable
    func inject(_ value: String, forKey key: String, into carrier: inout Carrier)
}

/// Propagates a context to other services. A tracer is an instrument.
public protocol Instrument: Sendable {
    func inject<Carrier, Inject>(_ context: ServiceContext, into carrier: inout Carrier, using injector: Inject)
    where Inject: Injector, Inject.Carrier == Carrier
}

public enum InstrumentationSystem {
    /// The instrument of the process. With the real library, it is set by `bootstrap`.
    public static let instrument: any Instrument = HeaderTracer()
}

private struct HeaderTracer: Instrument {
    func inject<Carrier, Inject>(_ context: ServiceContext, into carrier: inout Carrier, using injector: Inject)
    where Inject: Injector, Inject.Carrier == Carrier {
        if let span = context.span { injector.inject(span, forKey: "traceparent", into: &carrier) }
    }
}
