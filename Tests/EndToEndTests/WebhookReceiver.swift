import Foundation
import Glibc
import IssueProtocol
import Synchronization

/// A webhook on the loopback interface that keeps what it receives.
final class WebhookReceiver: Sendable {
    /// A request as received.
    struct Request: Sendable {
        var head: String
        var body: JSONValue
        var at: ContinuousClock.Instant
    }

    /// What happens to a request after it was received.
    enum Reply: Sendable {
        case status(Int)
        /// The request stays unanswered until the client closes the connection.
        case silence
    }

    let port: UInt16
    private let descriptor: CInt
    private let state = Mutex<(requests: [Request], reply: Reply)>(([], .status(200)))

    init() throws {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = unsafe withUnsafeMutablePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                guard unsafe bind(descriptor, address, size) == 0, listen(descriptor, 16) == 0 else { return CInt(-1) }
                return unsafe getsockname(descriptor, address, &size)
            }
        }
        guard result == 0 else { throw POSIXError(.EADDRNOTAVAIL) }
        port = UInt16(bigEndian: address.sin_port)
        self.descriptor = descriptor
        Thread.detachNewThread { [weak self] in
            while true {
                let peer = accept(descriptor, nil, nil)
                guard peer >= 0 else { return }
                Thread.detachNewThread { [weak self] in
                    self?.serve(peer)
                    _ = close(peer)
                }
            }
        }
    }

    deinit {
        _ = shutdown(descriptor, CInt(SHUT_RDWR))
    }

    var url: String { "http://127.0.0.1:\(port)/hook" }
    var requests: [Request] { state.withLock { $0.requests } }
    var messages: [JSONValue] { requests.map(\.body) }

    func reply(_ reply: Reply) {
        state.withLock { $0.reply = reply }
    }

    private func serve(_ peer: CInt) {
        var bytes: [UInt8] = []
        let end = Array("\r\n\r\n".utf8)
        var head: String?
        while true {
            if head == nil, let index = bytes.indices.first(where: { bytes[$0...].starts(with: end) }) {
                head = String(decoding: bytes[..<index], as: UTF8.self)
                bytes.removeFirst(index + end.count)
            }
            if let head {
                let line = head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("content-length:") }
                let length = line.flatMap { Int($0.drop { $0 != " " }.dropFirst()) } ?? 0
                if bytes.count >= length { break }
            }
            guard let more = read(from: peer) else { return }
            bytes += more
        }
        let text = String(decoding: bytes, as: UTF8.self)
        let request = Request(head: head ?? "", body: (try? JSONValue(json: text)) ?? .string(text), at: .now)
        let reply = state.withLock { state in
            state.requests.append(request)
            return state.reply
        }
        switch reply {
        case .status(let status):
            let answer = Array("HTTP/1.1 \(status) X\r\nContent-Length: 2\r\n\r\nok".utf8)
            _ = unsafe answer.withUnsafeBytes { unsafe send(peer, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
        case .silence: while read(from: peer) != nil {}
        }
    }

    private func read(from peer: CInt) -> [UInt8]? {
        var room = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe room.withUnsafeMutableBytes { unsafe recv(peer, $0.baseAddress, $0.count, 0) }
        return count > 0 ? Array(room.prefix(count)) : nil
    }
}
