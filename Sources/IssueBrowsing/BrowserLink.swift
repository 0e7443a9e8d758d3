package import IssueProtocol
package import Issues

/// The way of a question to the daemon: calls go out and replies come back, both as the JSON of their parameters.
///
/// JSON on purpose, not values: who prints what the daemon said prints fields
/// too that only a newer one knows.
package protocol BrowserLink: AnyObject {
    /// Calls a method and waits for its reply.
    func call(
        _ method: CollectorMethod, parameters: [UInt8], timeout: Duration
    ) throws(CollectorConnectionError) -> [UInt8]

    /// Calls with `more`, and hands over each reply, however late, until there is none or the receiver answers false.
    ///
    /// - Parameter takesFile: `true` to keep the open file that comes along with the replies; otherwise it is closed.
    /// - Returns: That file, if one came.
    func stream(
        _ method: CollectorMethod, parameters: [UInt8], takesFile: Bool, receive: ([UInt8]) -> Bool
    ) throws(CollectorConnectionError) -> PassedFile?
}

/// Opens the way to the socket that was named, or to the first that answers.
package typealias BrowserLinking = (String?) throws(CollectorConnectionError) -> any BrowserLink
