import Dispatch
import Foundation
import HTTPTransfer
import Synchronization
import Testing

@Suite struct CancellationTests {
    @Test("A cancelled transfer ends immediately")
    func cancelWhileWaiting() throws {
        let cancellation = HTTPCancellation()
        let listener = try ScriptedListener { connection in
            connection.readRequest()
            cancellation.cancel()
            connection.readToEnd()
        }
        let start = ContinuousClock.now
        let error = fault(of: Self.patientRequest(to: listener.port), cancellation: cancellation)
        #expect(error?.code == .cancelled)
        #expect(error?.bodyFullySent == true)
        // Far below the deadline, even on a busy machine.
        #expect(start.duration(to: .now) < .seconds(4))
    }

    @Test("After a cancellation, no transfer begins")
    func cancelBefore() throws {
        let listener = try ScriptedListener { $0.readRequest() }
        let cancellation = HTTPCancellation()
        cancellation.cancel()
        let error = fault(of: .post(to: listener.port), cancellation: cancellation)
        #expect(error?.code == .cancelled)
        #expect(error?.bodyFullySent == false)
        #expect(listener.connections == 0)
    }

    @Test("A stalled connection attempt is cancelled immediately, too")
    func cancelConnecting() throws {
        let cancellation = HTTPCancellation()
        let listener = try ScriptedListener { connection in
            // The handshake has begun and is never answered.
            cancellation.cancel()
            connection.readToEnd()
        }
        var request = Self.patientRequest(to: listener.port)
        request.url = "https://127.0.0.1:\(listener.port)/"
        var client = StreamClient(cancellation: cancellation)
        let start = ContinuousClock.now
        var code: HTTPTransferError.Code?
        do throws(HTTPTransferError) { try client.send([1, 2, 3], to: request) } catch { code = error.code }
        #expect(code == .cancelled)
        #expect(start.duration(to: .now) < .seconds(4))
    }

    @Test("Writing to a stream whose peer does not read is cancelled immediately, too")
    func cancelWriting() throws {
        let cancellation = HTTPCancellation()
        let hasEnded = DispatchSemaphore(value: 0)
        let listener = try ScriptedListener { connection in
            _ = connection.read(exactly: 1)
            cancellation.cancel()
            _ = hasEnded.wait(timeout: .now() + 70)
        }
        var client = StreamClient(cancellation: cancellation)
        let start = ContinuousClock.now
        var code: HTTPTransferError.Code?
        // More than the buffers of both sockets hold.
        let bytes = [UInt8](repeating: 0, count: 64 << 20)
        do throws(HTTPTransferError) {
            try client.send(bytes, to: Self.patientRequest(to: listener.port))
        } catch { code = error.code }
        hasEnded.signal()
        #expect(code == .cancelled)
        #expect(start.duration(to: .now) < .seconds(4))
    }

    @Test("Writing to a stream whose peer does not read ends with a timeout")
    func writingTimeout() throws {
        let hasEnded = DispatchSemaphore(value: 0)
        let listener = try ScriptedListener { connection in
            _ = connection.read(exactly: 1)
            _ = hasEnded.wait(timeout: .now() + 70)
        }
        var client = StreamClient()
        var request = Self.patientRequest(to: listener.port)
        request.totalTimeout = .milliseconds(500)
        var code: HTTPTransferError.Code?
        do throws(HTTPTransferError) {
            try client.send([UInt8](repeating: 0, count: 64 << 20), to: request)
        } catch { code = error.code }
        hasEnded.signal()
        #expect(code == .timeout)
    }

    @Test("One cancellation ends several transfers")
    func cancelSeveral() throws {
        let cancellation = HTTPCancellation()
        let firstHasArrived = DispatchSemaphore(value: 0)
        let first = try ScriptedListener { connection in
            connection.readRequest()
            firstHasArrived.signal()
            connection.readToEnd()
        }
        let second = try ScriptedListener { connection in
            connection.readRequest()
            firstHasArrived.wait()
            cancellation.cancel()
            connection.readToEnd()
        }
        // A dedicated thread, so that a busy thread pool cannot run the two transfers one after the other.
        let firstHasEnded = DispatchSemaphore(value: 0)
        let firstCode = Mutex<HTTPTransferError.Code?>(nil)
        Thread.detachNewThread {
            let code = fault(of: Self.patientRequest(to: first.port), cancellation: cancellation)?.code
            firstCode.withLock { $0 = code }
            firstHasEnded.signal()
        }

        #expect(fault(of: Self.patientRequest(to: second.port), cancellation: cancellation)?.code == .cancelled)
        #expect(firstHasEnded.wait(timeout: .now() + 5) == .success)
        #expect(firstCode.withLock { $0 } == .cancelled)
    }

    private static func patientRequest(to port: UInt16) -> HTTPRequest {
        var request = HTTPRequest.post(to: port)
        request.connectTimeout = .seconds(60)
        request.totalTimeout = .seconds(60)
        return request
    }
}
