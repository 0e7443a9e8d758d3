/// The body of one request, made while the next of its lines are still being made; it may be sent more than once.
package protocol PreparedBody: AnyObject {
    /// One line more, in the order in which they will be sent.
    func add(_ line: [UInt8])
}
