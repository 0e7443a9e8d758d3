import TestSockets
import UnixIO

/// A port on the loopback interface that can be closed, reopened and made unresponsive.
final class ControlledPort: Sendable {
    private struct State: Sendable {
        /// The first listener, until the keeper thread takes it over.
        var first: OpenSocket?
        var wanted = PortMode.open
        var actual = PortMode.open
        /// The time at which the port reopens.
        var reopening: KernelInstant?
        /// The time at which the port closes, if it flaps.
        var closing: KernelInstant?
        /// The durations of the two phases, if the port flaps.
        var flapping: PortChange.Flapping?

        /// Applies the changes that are due. Returns `true` if connections must end.
        mutating func turn(at now: KernelInstant) -> Bool {
            guard wanted != .ended else { return false }
            if let time = reopening, time <= now {
                wanted = .open
                reopening = nil
                closing = flapping.map { now.advanced(by: $0.up) }
            }
            guard let time = closing, time <= now else { return false }
            wanted = .closed
            closing = nil
            reopening = flapping.map { now.advanced(by: $0.down) }
            return true
        }

        var nextTurn: KernelInstant? { reopening ?? closing }
        var connections: [Int: OpenSocket] = [:]
        var connectionCount = 0
    }

    /// Serves a connection until it ends.
    typealias Handler = @Sendable (ControlledPort, OpenSocket, _ number: Int) -> Void

    private static let maxConnections = 64

    let port: UInt16
    private let state = Monitor(State())
    private let wake: EventCounter
    private let poller: Poller
    private let threadGroup = ThreadGroup()
    private let threads = ThreadGroup()
    private let handler: Handler

    init(port: UInt16, name: String, handler: @escaping Handler) throws(Errno) {
        let first = OpenSocket(try Self.listen(port))
        self.port = try first.descriptor.localPort()
        self.handler = handler
        wake = try EventCounter()
        poller = try Poller(capacity: 2)
        try poller.add(wake.descriptor, token: 0, for: .read)
        try poller.add(first.descriptor, token: 1, for: .read)
        // The thread's closure must not capture the listener, because it would keep the listener open.
        state.withLock { $0.first = first }
        try threads.start(name: name) { [self] in keep() }
    }

    private static func listen(_ port: UInt16) throws(Errno) -> FileDescriptor {
        port == 0 ? try Socket.listenLoopback(portIn: 20_000..<32_000) : try Socket.listenLoopback(port: port)
    }

    /// The number of accepted connections.
    var connectionCount: Int {
        state.withLock { $0.connectionCount }
    }

    /// Changes the mode and returns once it is in effect. Throws if another process has taken the port meanwhile.
    func change(to mode: PortMode) throws(Errno) {
        try make(PortChange(to: mode))
    }

    func make(_ change: PortChange) throws(Errno) {
        let (now, mode) = (MonotonicClock.now, change.mode)
        state.withLock { state in
            guard state.wanted != .ended else { return }
            state.wanted = mode
            state.reopening = change.duration.map { now.advanced(by: $0) }
            state.closing = nil
            state.flapping = change.flapping
        }
        wake.signal()
        let isDone = state.wait(deadline: now.advanced(by: .seconds(10))) { state in
            state.actual == mode || state.wanted != mode ? true : nil
        }
        guard isDone == true else { throw .addressInUse }
    }

    /// Ends all connections, like the end of a process.
    func cutConnections() {
        for connection in state.withLock({ Array($0.connections.values) }) { connection.cut() }
    }

    /// Closes the port and all connections, and joins the threads.
    func end() {
        state.withLock { $0.wanted = .ended }
        wake.signal()
        threads.join()
        cutConnections()
        threadGroup.join()
    }

    private func keep() {
        var listener = state.withLock { $0.first.take() }
        // The connections that keep the queue of a blackhole full.
        var connections: [OpenSocket] = []
        defer { extendLifetime(connections) }
        var mode = PortMode.open
        var events: [PollEvent] = []

        while true {
            let (wanted, turning, isCut) = state.withLock { state in
                let isCut = state.turn(at: MonotonicClock.now)
                return (state.wanted, state.nextTurn, isCut)
            }
            if isCut { cutConnections() }
            if wanted != mode {
                listener = nil
                connections = []
                switch wanted {
                case .open:
                    listener = try? OpenSocket(Socket.listenLoopback(port: port))
                    if let listener { try? poller.add(listener.descriptor, token: 1, for: .read) }
                    mode = listener == nil ? mode : .open
                case .closed:
                    mode = .closed
                case .blackhole:
                    listener = try? OpenSocket(Socket.listenLoopback(port: port, backlog: 1))
                    connections = Self.fill(port)
                    mode = .blackhole
                case .ended:
                    mode = .ended
                }
                state.withLock { $0.actual = mode }
                state.broadcast()
            }
            guard mode != .ended else { return }

            let now = MonotonicClock.now
            // If the port could not be bound again, the next attempt follows after 20 ms.
            let pause = wanted == mode ? turning.map { now.duration(to: $0) } : .milliseconds(20)
            try? poller.wait(into: &events, timeout: pause)
            wake.take()
            if mode == .open, let listener { acceptAll(listener) }
        }
    }

    private func acceptAll(_ listener: OpenSocket) {
        while let connection = try? listener.descriptor.accept() {
            let socket = OpenSocket(connection)
            let number = state.withLock { state -> Int? in
                guard state.connections.count < Self.maxConnections else { return nil }
                state.connectionCount += 1
                state.connections[state.connectionCount] = socket
                return state.connectionCount
            }
            guard let number else { continue }
            try? socket.descriptor.setNoDelay()
            let isServed: Void? = try? threadGroup.start(name: "fake-\(number)") { [self] in
                handler(self, socket, number)
                forget(number)
            }
            if isServed == nil { forget(number) }
        }
    }

    private func forget(_ number: Int) {
        state.withLock { $0.connections[number] = nil }
    }

    /// Connects until the accept queue is full, so that further connections get no reply at all.
    private static func fill(_ port: UInt16) -> [OpenSocket] {
        var connections: [OpenSocket] = []
        while connections.count < 16,
            let socket = try? Socket.connectLoopback(port: port, timeout: .milliseconds(100))
        {
            connections.append(OpenSocket(socket))
        }
        return connections
    }
}
