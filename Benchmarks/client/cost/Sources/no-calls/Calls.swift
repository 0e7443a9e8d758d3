import Issues

/// The same without a call.
public func calls() {}
