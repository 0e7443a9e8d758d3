import FakeLogz
import Foundation
import Testing

private let python = ProcessInfo.processInfo.environment["ISSUED_TEST_PYTHON"]
    .flatMap { FileManager.default.isExecutableFile(atPath: $0) ? $0 : nil }

/// Checks with the vendor's own sender from PyPI that the listener behaves like the service.
///
/// These tests cannot show that the listener equals the service; this would require an account.
@Suite(
    "The vendor's Python sender delivers, fails and gives up as with the service",
    .enabled(if: python != nil, "ISSUED_TEST_PYTHON names no Python with logzio-python-handler"))
struct VendorSenderTests {
    /// The result of a case.
    private struct Outcome {
        let requests: Int
        let accepted: Int
        /// Lines that the sender could not deliver and has stored.
        let putAside: Int
    }

    /// Returns the program of a case. Each case has its own process, since the sender's logger keeps state.
    private static func script(port: UInt16, token: String, sizes: [Int]) -> String {
        """
        from os import _exit
        from logzio.sender import LogzioSender
        sender = LogzioSender("\(token)", url="http://127.0.0.1:\(port)", logs_drain_timeout=3600,
                              network_timeout=1, number_of_retries=2, retry_timeout=0.2)
        for number, size in enumerate(\(sizes)):
            sender.append({"event_id": "id-%d" % number, "message": "x" * size})
        sender.flush()
        print("flushed", flush=True)
        # The sender's thread would go on for an hour.
        _exit(0)
        """
    }

    private static func send(
        to plan: [FaultStep], token: String = "good", sizes: [Int] = [10, 10, 10]
    ) throws -> Outcome {
        var outcome: Outcome?
        try withScratchFolder { folder in
            let fake = try FakeLogz(FakeLogzOptions(tokens: ["good"], plan: plan))
            defer { fake.stop() }
            let child = try ChildProcess(
                try #require(python), ["-c", script(port: fake.port, token: token, sizes: sizes)], in: folder,
                environment: ["HOME": folder.path, "PYTHONDONTWRITEBYTECODE": "1", "NO_PROXY": "*"])
            let (code, output) = try child.end()
            #expect(code == 0)
            #expect(output.hasSuffix("flushed\n"))

            let backups = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
                .filter { $0.lastPathComponent.hasPrefix("logzio-failures-") }
            let putAside = try backups.map { file in
                try String(contentsOf: file, encoding: .utf8).split(separator: "\n").count
            }
            outcome = Outcome(
                requests: fake.requests.count, accepted: fake.accepted.count, putAside: putAside.reduce(0, +))
        }
        return try #require(outcome)
    }

    @Test("Without faults, one request delivers all lines")
    func good() throws {
        let outcome = try Self.send(to: [])
        #expect(outcome.requests == 1)
        #expect(outcome.accepted == 3)
        #expect(outcome.putAside == 0)
    }

    @Test("On 401, the sender considers the token invalid and drops the batch")
    func unauthorised() throws {
        let outcome = try Self.send(to: [], token: "bad")
        #expect(outcome.requests == 1)
        #expect(outcome.accepted == 0)
        #expect(outcome.putAside == 0)
    }

    @Test("On 400 because one of three lines is too large, the sender considers the other two delivered")
    func partial() throws {
        let outcome = try Self.send(to: [], sizes: [10, 600_000, 10])
        #expect(outcome.requests == 1)
        #expect(outcome.accepted == 2)
        #expect(outcome.putAside == 0)
    }

    @Test("On 500, the sender retries, and stores the lines that it could not deliver")
    func serverError() throws {
        let outcome = try Self.send(to: [FaultStep(.status(500), times: .forever)])
        #expect(outcome.requests == 2)
        #expect(outcome.accepted == 0)
        #expect(outcome.putAside == 3)
    }

    @Test("If responses are lost, the sender sends the accepted lines again, so that each is accepted twice")
    func lostAnswers() throws {
        let outcome = try Self.send(to: [FaultStep(.resetBeforeAnswer, times: .forever)])
        #expect(outcome.requests == 2)
        #expect(outcome.accepted == 6)
        #expect(outcome.putAside == 3)
    }
}
