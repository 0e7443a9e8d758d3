/// Where a command reads from; tests give it a text in pieces.
package protocol CommandInput: AnyObject {
    /// The bytes that have come since the last call, waiting for the first of them; nothing at the end.
    func read() -> [UInt8]?
}
