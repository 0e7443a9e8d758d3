import Foundation
import HTTPTransfer
import Testing

@Suite struct CancellationTests {
    @Test("A cancelled transfer ends at once")
    func cancelWhileWaiting() throws {
        let cancellation = HTTPCancellation()
        let listener = try ScriptedListener { connection in
            connection.readRequest()
            cancellation.cancel()
            connection.readToEnd()
        }
        var request = HTTPRequest.post(to: listener.port)
        request.totalTimeout = .seconds(60)
        let start = ContinuousClock.now
        let error = fault(of: request, cancellation: cancellation)
        #expect(error?.code == .cancelled)
        #expect(error?.bodyFullySent == true)
        // Far below the deadline; the busiest machine gets there.
        #expect(start.duration(to: .now) < .seconds(4))
    }

    @Test("After a cancellation no transfer begins")
    func cancelBefore() throws {
        let listener = try ScriptedListener { $0.readRequest() }
        let cancellation = HTTPCancellation()
        cancellation.cancel()
        let error = fault(of: .post(to: listener.port), cancellation: cancellation)
        #expect(error?.code == .cancelled)
        #expect(error?.bodyFullySent == false)
        #expect(listener.connections == 0)
    }

    @Test("One cancellation ends several transfers")
    func cancelSeveral() async throws {
        let cancellation = HTTPCancellation()
        let first = try ScriptedListener { connection in
            connection.readRequest()
            connection.readToEnd()
        }
        let second = try ScriptedListener { connection in
            connection.readRequest()
            cancellation.cancel()
            connection.readToEnd()
        }
        let codes = await withTaskGroup(of: HTTPTransferError.Code?.self) { group in
            for port in [first.port, second.port] {
                group.addTask {
                    var request = HTTPRequest.post(to: port)
                    request.totalTimeout = .seconds(60)
                    return fault(of: request, cancellation: cancellation)?.code
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes == [.cancelled, .cancelled])
    }
}
