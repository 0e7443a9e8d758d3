import Glibc
import TestSockets
import Testing
import UnixIO

@Suite("Poller")
struct PollerTests {
    @Test("A descriptor is reported by its token as long as it is ready")
    func levelTriggered() throws {
        let poller = try Poller()
        let pair = try SocketPair()
        try poller.add(pair.first, token: 0xFFFF_FFFF_0000_0001, for: .read)
        var events: [PollEvent] = []

        try poller.wait(into: &events, timeout: .zero)
        #expect(events.isEmpty)

        try pair.second.sendAll([1])
        for _ in 0..<2 {
            try poller.wait(into: &events, timeout: .seconds(60))
            #expect(events.map(\.token) == [0xFFFF_FFFF_0000_0001])
            #expect(events.first?.isReadable == true)
            #expect(events.first?.isWritable == false)
            #expect(events.first?.isHungUp == false)
        }
    }

    @Test("An edge is reported once, until more data arrives")
    func edgeTriggered() throws {
        let poller = try Poller()
        let pair = try SocketPair()
        try poller.add(pair.first, token: 7, for: .read, trigger: .edge)
        var events: [PollEvent] = []

        try pair.second.sendAll([1])
        try poller.wait(into: &events, timeout: .seconds(60))
        #expect(events.count == 1)
        try poller.wait(into: &events, timeout: .zero)
        #expect(events.isEmpty)
        try pair.second.sendAll([1])
        try poller.wait(into: &events, timeout: .seconds(60))
        #expect(events.count == 1)
    }

    @Test("Interest and token can be changed, and a descriptor can be removed")
    func modify() throws {
        let poller = try Poller()
        let pair = try SocketPair()
        try poller.add(pair.first, token: 1, for: .read)
        var events: [PollEvent] = []

        try poller.modify(pair.first, token: 2, for: [.read, .write])
        try poller.wait(into: &events, timeout: .seconds(60))
        #expect(events.map(\.token) == [2])
        #expect(events.first?.isWritable == true)

        try poller.remove(pair.first)
        try poller.wait(into: &events, timeout: .zero)
        #expect(events.isEmpty)
        #expect(throws: Errno.noSuchFile) { try poller.remove(pair.first) }
    }

    @Test("A peer that closes differs from one that only stops sending")
    func hangUp() throws {
        let poller = try Poller()
        let pair = try SocketPair()
        try poller.add(pair.first, token: 1, for: .read)
        var events: [PollEvent] = []

        try pair.second.shutdownWriting()
        try poller.wait(into: &events, timeout: .seconds(60))
        #expect(events.first?.isPeerClosed == true)
        #expect(events.first?.isHungUp == false)

        try pair.second.shutdownBoth()
        try poller.wait(into: &events, timeout: .seconds(60))
        #expect(events.first?.isHungUp == true)
    }

    @Test("If more descriptors are ready than fit, they are reported in turn in a reused array")
    func manyReady() throws {
        let poller = try Poller(capacity: 4)
        var tokens: Set<UInt64> = []
        var keep: [CInt] = []
        for token in 0..<10 {
            let pair = try SocketPair()
            try pair.second.sendAll([1])
            try poller.add(pair.first, token: UInt64(token), for: .read)
            keep.append(try pair.first.duplicate().release())
        }
        // The duplicates keep the descriptors in the poller after they were closed.
        var events: [PollEvent] = []
        try poller.wait(into: &events, timeout: .seconds(60))
        #expect(events.count == 4)
        let capacity = events.capacity
        for _ in 0..<20 {
            try poller.wait(into: &events, timeout: .seconds(60))
            tokens.formUnion(events.map(\.token))
            #expect(events.count <= 4)
        }
        #expect(tokens.count == 10)
        #expect(events.capacity == capacity)
        for rawValue in keep { _ = FileDescriptor(owning: rawValue) }
    }

    @Test("Another thread can wake a waiting one")
    func eventCounter() throws {
        let poller = try Poller()
        let counter = SharedCounter(try EventCounter())
        try poller.add(counter.counter.descriptor, token: 9, for: .read)
        let thread = try Thread.start(name: "waker") {
            counter.counter.signal()
            counter.counter.signal()
        }
        var events: [PollEvent] = []
        try poller.wait(into: &events, timeout: .seconds(60))
        thread.join()
        #expect(events.map(\.token) == [9])
        #expect(counter.counter.take() == 2)
        #expect(counter.counter.take() == 0)
        try poller.wait(into: &events, timeout: .zero)
        #expect(events.isEmpty)
    }

    @Test("Waiting for a single descriptor ends at the timeout, and not earlier")
    func readiness() throws {
        let pair = try SocketPair()
        let start = MonotonicClock.now
        #expect(try !Readiness.wait(pair.first, for: .read, timeout: .microseconds(2_500)))
        #expect(start.duration(to: MonotonicClock.now) >= .microseconds(2_500))
        #expect(try Readiness.wait(pair.first, for: .write, timeout: .seconds(60)))
        try pair.second.sendAll([1])
        #expect(try Readiness.wait(pair.first, for: [.read], timeout: .seconds(60)))
        #expect(try Readiness.wait(pair.first, for: .read))
    }
}

private final class SharedCounter: Sendable {
    let counter: EventCounter

    init(_ counter: consuming EventCounter) {
        self.counter = counter
    }
}
