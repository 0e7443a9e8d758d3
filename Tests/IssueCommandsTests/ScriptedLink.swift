import IssueBrowsing
import IssueCommands
import IssueProtocol
import Issues

/// A daemon that says what a test has written down for it, and remembers what it was asked.
final class ScriptedLink: BrowserLink {
    enum Reply {
        case reply(String)
        case failure(CollectorConnectionError)
        /// The parts of a stream, and how it ends.
        case parts([String], CollectorConnectionError?)
    }

    private var script: [Reply]
    /// Each call as `Method {parameters}`.
    private(set) var calls: [String] = []

    init(_ script: [Reply]) {
        self.script = script
    }

    func call(_ method: CollectorMethod, parameters: [UInt8], timeout: Duration) throws(CollectorConnectionError)
        -> [UInt8]
    {
        switch next(method, parameters) {
        case .reply(let json): return Array(json.utf8)
        case .failure(let failure): throw failure
        case .parts: throw .malformed("the script has a stream where a reply is asked for")
        }
    }

    func stream(_ method: CollectorMethod, parameters: [UInt8], receive: ([UInt8]) -> Bool)
        throws(CollectorConnectionError)
    {
        switch next(method, parameters) {
        case .reply: throw .malformed("the script has a reply where a stream is asked for")
        case .failure(let failure): throw failure
        case .parts(let parts, let failure):
            for part in parts {
                guard receive(Array(part.utf8)) else { return }
            }
            if let failure { throw failure }
        }
    }

    private func next(_ method: CollectorMethod, _ parameters: [UInt8]) -> Reply {
        calls.append("\(method.rawValue) \(String(decoding: parameters, as: UTF8.self))")
        return script.isEmpty ? .failure(.malformed("the script is over")) : script.removeFirst()
    }
}
