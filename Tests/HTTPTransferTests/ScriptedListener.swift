import Dispatch
import Foundation
import Glibc
import Synchronization

/// A listener on the loopback interface that handles each connection with the test's script.
final class ScriptedListener: Sendable {
    let port: UInt16
    private let descriptor: CInt
    private let isOver = DispatchSemaphore(value: 0)
    private let accepted = Mutex(0)
    private let received = Mutex<[ReceivedRequest]>([])

    /// Serves the connections one after the other, on a separate thread.
    init(_ serve: @escaping @Sendable (ScriptedConnection) -> Void) throws {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        port = try ScriptedListener.listenOnLoopback(descriptor)
        self.descriptor = descriptor

        Thread.detachNewThread { [weak self, isOver] in
            while true {
                let peer = accept(descriptor, nil, nil)
                guard peer >= 0 else { break }
                self?.accepted.withLock { $0 += 1 }
                let connection = ScriptedConnection(peer, of: descriptor) { request in
                    self?.received.withLock { $0.append(request) }
                }
                serve(connection)
                connection.end()
            }
            // Not closed elsewhere: another test could get the same descriptor number while this thread still uses it.
            isOver.wait()
            _ = close(descriptor)
        }
    }

    deinit {
        stopListening()
        isOver.signal()
    }

    var connections: Int { accepted.withLock { $0 } }
    var requests: [ReceivedRequest] { received.withLock { $0 } }

    /// Refuses connections from now on. The port stays in use, so that no other test listens there.
    func stopListening() {
        _ = shutdown(descriptor, CInt(SHUT_RDWR))
    }

    private static func listenOnLoopback(_ descriptor: CInt) throws -> UInt16 {
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
        return UInt16(bigEndian: address.sin_port)
    }
}
