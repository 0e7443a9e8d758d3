/// Nobody writes any more: the daemon is at its end.
struct WriterClosed: Error, CustomStringConvertible {
    var description: String { "the store is closed" }
}
