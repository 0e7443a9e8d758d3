import Dispatch
import Foundation
import HTTPTransfer
import Synchronization
import Testing
import UnixIO

private func isAsleep(_ thread: Int32) -> Bool {
    let stat = (try? FileSystem.read("/proc/self/task/\(thread)/stat", limit: 4096)) ?? []
    return String(decoding: stat, as: UTF8.self).contains(") S ")
}

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
        var failure: HTTPTransferError?
        do throws(HTTPTransferError) {
            try client.send(Self.tooMany, to: Self.patientRequest(to: listener.port))
        } catch { failure = error }
        hasEnded.signal()
        #expect(failure?.code == .cancelled)
        #expect(failure?.message == "The connection to 127.0.0.1:\(listener.port) was cancelled")
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
        var failure: HTTPTransferError?
        do throws(HTTPTransferError) { try client.send(Self.tooMany, to: request) } catch { failure = error }
        hasEnded.signal()
        #expect(failure?.code == .timeout)
        #expect(failure?.message == "127.0.0.1:\(listener.port) did not accept the data in time")
    }

    @Test("A signal does not end the wait until a stream can be written")
    func writingInterrupted() throws {
        signal(SIGUSR1) { _ in }
        let writer = Mutex<(handle: pthread_t, id: Int32)?>(nil)
        let isSignalled = DispatchSemaphore(value: 0)
        let listener = try ScriptedListener { connection in
            _ = connection.read(exactly: 1)
            let deadline = ContinuousClock.now.advanced(by: .seconds(30))
            for _ in 0..<20 {
                guard let writer = writer.withLock({ $0 }) else { break }
                // The writer sleeps only in poll(2), which every signal interrupts.
                while !isAsleep(writer.id), ContinuousClock.now < deadline { sched_yield() }
                pthread_kill(writer.handle, SIGUSR1)
            }
            isSignalled.signal()
            _ = connection.read(exactly: Self.tooMany.count - 1)
        }
        let failure = Mutex<HTTPTransferError?>(nil)
        let hasEnded = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            // The parent process may have blocked the signal.
            var signals = sigset_t()
            unsafe sigaddset(&signals, SIGUSR1)
            unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            writer.withLock { $0 = (pthread_self(), CurrentProcess.threadID) }
            var client = StreamClient()
            do throws(HTTPTransferError) {
                try client.send(Self.tooMany, to: Self.patientRequest(to: listener.port))
            } catch { failure.withLock { $0 = error } }
            // A thread that has ended must get no signal.
            isSignalled.wait()
            hasEnded.signal()
        }
        #expect(hasEnded.wait(timeout: .now() + 60) == .success)
        #expect(failure.withLock { $0 } == nil)
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

    /// More bytes than the buffers of both sockets hold.
    private static let tooMany = [UInt8](repeating: 0, count: 64 << 20)

    private static func patientRequest(to port: UInt16) -> HTTPRequest {
        var request = HTTPRequest.post(to: port)
        request.connectTimeout = .seconds(60)
        request.totalTimeout = .seconds(60)
        return request
    }
}
