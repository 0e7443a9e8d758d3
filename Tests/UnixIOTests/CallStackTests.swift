import Testing
import UnixIO

@Suite("The calls on a stack")
struct CallStackTests {
    @inline(never)
    private static func deep(_ depth: Int, _ look: () -> [UInt]) -> [UInt] {
        let found = depth == 0 ? look() : deep(depth - 1, look)
        // Work after the call, so that it is no tail call.
        return found + []
    }

    @Test("Addresses that calls return to lie in the code of loaded images, the own ones in ours")
    func addresses() throws {
        let addresses = Self.deep(5) { CallStack.returnAddresses(atMost: 40) }
        let images = LoadedImage.all
        #expect(addresses.count > 5)
        #expect(addresses.allSatisfy { address in images.contains { $0.code.contains(address) } })
        let own = try #require(images.first { $0.code.contains(addresses[0]) })
        #expect(addresses.prefix(6).allSatisfy { own.code.contains($0) })
        #expect(own.buildID?.count ?? 0 >= 16)
        // A recursion returns to one place, again and again.
        #expect(Set(addresses.prefix(12)).count < 12)
    }

    @Test("No more are found than are asked for, and a thread's own end ends them")
    func bounds() async throws {
        #expect(CallStack.returnAddresses(atMost: 2).count == 2)
        #expect(CallStack.returnAddresses(atMost: 0).isEmpty)
        let found = Monitor<[UInt]?>(nil)
        _ = try Thread.start(name: "stack") {
            let addresses = Self.deep(3) { CallStack.returnAddresses(atMost: 1000) }
            found.withLock { $0 = addresses }
            found.broadcast()
        }
        let deadline = MonotonicClock.now.advanced(by: .seconds(30))
        let addresses = try #require(found.wait(deadline: deadline) { $0 })
        #expect((4..<100).contains(addresses.count))
    }
}
