import FakeLogz
import TestSockets
import Testing
import UnixIO

@Suite("Faults of the port")
struct PortTests {
    private static func connects(to port: UInt16, within time: Duration = .milliseconds(300)) -> Errno? {
        do throws(Errno) {
            _ = try Socket.connectLoopback(port: port, timeout: time)
            return nil
        } catch {
            return error
        }
    }

    @Test("down refuses connections and ends open ones; up reopens the same port")
    func downAndUp() throws {
        try listening { fake in
            let client = try RawClient(port: fake.port)
            try client.post("{}")
            #expect(try client.answer().status == 200)

            try fake.down()
            #expect(try client.remainder().end == .closed)
            #expect(Self.connects(to: fake.port) == .connectionRefused)

            try fake.up()
            #expect(try fake.answer(to: "{}").status == 200)
        }
    }

    @Test("A plan closes the port before the preceding request gets its response, and reopens it after a given time")
    func plannedDown() throws {
        try listening { fake in
            try fake.plan(FaultStep(.status(503)), FaultStep(.down(for: nil)))
            #expect(Self.connects(to: fake.port) == nil)

            #expect(try fake.answer(to: "{}").status == 503)
            #expect(Self.connects(to: fake.port) == .connectionRefused)

            try fake.plan(FaultStep(.down(for: .seconds(1))))
            #expect(Self.connects(to: fake.port) == .connectionRefused)
            let deadline = MonotonicClock.now.advanced(by: .seconds(10))
            while Self.connects(to: fake.port) != nil, MonotonicClock.now < deadline {}
            #expect(try fake.answer(to: "{}").status == 200)
        }
    }

    @Test("blackhole neither accepts nor refuses connections")
    func blackhole() throws {
        try listening(FaultStep(.blackhole(for: nil))) { fake in
            #expect(Self.connects(to: fake.port) == .timedOut)

            try fake.plan([])
            #expect(Self.connects(to: fake.port) == nil)
            #expect(try fake.answer(to: "{}").status == 200)
        }
    }

    @Test("The 65th simultaneous connection is closed")
    func manyConnections() throws {
        try listening { fake in
            let clients = try (0..<64).map { _ in try RawClient(port: fake.port) }
            try clients[63].post("{}")
            #expect(try clients[63].answer().status == 200)

            #expect(try RawClient(port: fake.port).remainder().end == .closed)
        }
    }

    @Test("Stopping ends waiting requests and closes both ports")
    func stop() throws {
        let fake = try FakeLogz(FakeLogzOptions(tokens: ["good"], plan: [FaultStep(.readSilent, times: .forever)]))
        let client = try RawClient(port: fake.port)
        try client.post("{}")
        #expect(fake.waitForAccepted(1))
        let port = fake.port
        let controlPort = fake.controlPort

        fake.stop()

        #expect(try client.remainder().end == .closed)
        #expect(Self.connects(to: port) == .connectionRefused)
        #expect(Self.connects(to: controlPort) == .connectionRefused)
    }
}
