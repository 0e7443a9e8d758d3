import IssueBrowsing
import IssueCommands
import IssueProtocol
import Issues
import UnixIO

/// A daemon that plays scripted replies and records the calls. A call after the last reply gets an error.
final class ScriptedLink: BrowserLink {
    enum Reply {
        case reply(String)
        case failure(CollectorConnectionError)
        /// The parts of a stream, and its final error.
        case parts([String], CollectorConnectionError?)
        /// The parts of a stream that passes an open file.
        case file([String])
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
        case .parts, .file: throw .malformed("the script has a stream where a reply is asked for")
        }
    }

    func stream(_ method: CollectorMethod, parameters: [UInt8], receivesFile: Bool, receive: ([UInt8]) -> Bool)
        throws(CollectorConnectionError) -> PassedFile?
    {
        guard try play(next(method, parameters), receive), receivesFile else { return nil }
        guard let pipe = try? DescriptorPair.pipe(), let end = try? pipe.first.duplicate() else { return nil }
        return PassedFile(end)
    }

    /// Delivers the parts of a stream. Returns `true` if a file is passed with them.
    private func play(_ reply: Reply, _ receive: ([UInt8]) -> Bool) throws(CollectorConnectionError) -> Bool {
        switch reply {
        case .reply: throw .malformed("the script has a reply where a stream is asked for")
        case .failure(let failure): throw failure
        case .parts(let parts, let failure):
            for part in parts {
                guard receive(Array(part.utf8)) else { return false }
            }
            if let failure { throw failure }
            return false
        case .file(let parts):
            for part in parts {
                guard receive(Array(part.utf8)) else { return false }
            }
            return true
        }
    }

    private func next(_ method: CollectorMethod, _ parameters: [UInt8]) -> Reply {
        calls.append("\(method.rawValue) \(String(decoding: parameters, as: UTF8.self))")
        return script.isEmpty ? .failure(.malformed("the script is over")) : script.removeFirst()
    }
}
