import Foundation
import TestSockets
import Testing
import UnixIO

@testable import IssueDaemon

@Suite("Notifications to the service manager")
struct ServiceNotificationTests {
    private func received(
        at address: String, _ body: (ServiceNotification) throws -> Void
    ) throws -> [String] {
        let receiver = try Socket.datagramReceiver(at: address)
        try body(ServiceNotification(socket: address))
        var messages: [String] = []
        while true {
            var buffer: [UInt8] = []
            guard case .bytes = receiver.attemptRead(appendingTo: &buffer, atMost: 4096) else { return messages }
            messages.append(String(decoding: buffer, as: UTF8.self))
        }
    }

    @Test("Each state is one datagram, to a path or an abstract name", arguments: [false, true])
    func states(isAbstract: Bool) throws {
        let folder = try ConfigurationFolder()
        let address = isAbstract ? "@issued-test-\(UInt64.random(in: 0...UInt64.max))" : "\(folder.path)/n"

        let messages = try received(at: address) { notification in
            #expect(notification.hasServiceManager)
            try notification.ready(status: "3 groups")
            try notification.status("a\nREADY=1")
            try notification.reloading(at: KernelInstant(nanoseconds: 5_000_999), status: "r")
            try notification.watchdog()
            try notification.stopping(status: "s")
        }

        #expect(
            messages == [
                "READY=1\nSTATUS=3 groups", "STATUS=a READY=1", "RELOADING=1\nMONOTONIC_USEC=5000\nSTATUS=r",
                "WATCHDOG=1", "STOPPING=1\nSTATUS=s",
            ])
    }

    @Test(
        "Without a service manager with a supported address, nothing is sent and there is no error",
        arguments: [
            nil, "", "relative", "vsock:2:1", "@", "/" + String(repeating: "a", count: 200),
        ])
    func nobody(address: String?) throws {
        let notification = ServiceNotification(socket: address)
        #expect(!notification.hasServiceManager)
        try notification.ready(status: "")
    }

    @Test("If the service manager is gone, sending is an error")
    func gone() throws {
        let folder = try ConfigurationFolder()
        let notification = ServiceNotification(socket: "\(folder.path)/n")
        #expect(throws: Errno.noSuchFile) { try notification.watchdog() }
    }

    @Test("A service manager that reads nothing does not block the daemon")
    func silent() throws {
        let folder = try ConfigurationFolder()
        let receiver = try Socket.datagramReceiver(at: "\(folder.path)/n")
        let notification = ServiceNotification(socket: "\(folder.path)/n")
        #expect(throws: Errno.wouldBlock) {
            // More than any system buffers.
            for _ in 1...100_000 { try notification.watchdog() }
        }
        _ = consume receiver
    }

    @Test("The watchdog applies only to the process that WATCHDOG_PID names, and only with a valid interval")
    func watchdog() {
        #expect(Watchdog.interval(microseconds: "30000000", watchedPID: "7", ownPID: 7) == .seconds(30))
        #expect(Watchdog.interval(microseconds: "1", watchedPID: nil, ownPID: 7) == .microseconds(1))
        #expect(Watchdog.interval(microseconds: "30000000", watchedPID: "8", ownPID: 7) == nil)
        #expect(Watchdog.interval(microseconds: "1", watchedPID: "x", ownPID: 7) == nil)
        for text in [nil, "", "0", "-1", "x", "99999999999999999999"] {
            #expect(Watchdog.interval(microseconds: text, watchedPID: nil, ownPID: 7) == nil)
        }
    }
}
