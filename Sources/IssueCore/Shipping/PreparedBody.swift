/// What a shipper has begun to make of the lines of a batch, while the next of them are still being made.
package protocol PreparedBody: AnyObject {
    /// One line more, in the order in which they will be sent.
    func add(_ line: [UInt8])
}
