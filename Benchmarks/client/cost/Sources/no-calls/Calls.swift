import Issues

/// The same function without a call, to compare its code size with that of `calls`.
public func calls() {}
