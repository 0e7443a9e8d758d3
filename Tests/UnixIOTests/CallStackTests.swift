import Testing
import UnixIO

@Suite("Call stacks")
struct CallStackTests {
    @inline(never)
    private static func deep(_ depth: Int, _ collect: () -> [UInt]) -> [UInt] {
        let found = depth == 0 ? collect() : deep(depth - 1, collect)
        // Work after the call prevents a tail call.
        return found + []
    }

    @Test("Return addresses are in the code of loaded images; those of the test are in the test's image")
    func addresses() throws {
        let addresses = Self.deep(5) { CallStack.returnAddresses(atMost: 40) }
        let images = LoadedImage.all
        #expect(addresses.count > 5)
        #expect(addresses.allSatisfy { address in images.contains { $0.code.contains(address) } })
        let own = try #require(images.first { $0.code.contains(addresses[0]) })
        #expect(addresses.prefix(6).allSatisfy { own.code.contains($0) })
        #expect(own.buildID?.count ?? 0 >= 16)
        // The calls of a recursion return to the same address.
        #expect(Set(addresses.prefix(12)).count < 12)
    }

    @Test("The number of addresses is limited, and the list ends at the start of the thread")
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
