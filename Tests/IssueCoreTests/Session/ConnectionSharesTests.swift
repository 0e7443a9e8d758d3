import IssueCore
import Testing

@Suite("Shares of connections")
struct ConnectionSharesTests {
    private static func shares(total: Int = 4096, perUser: Int = 1024) -> ConnectionShares {
        ConnectionShares(limits: ConnectionShares.Limits(total: total, perUser: perUser))
    }

    /// Opens connections of a user until one is refused, up to a limit. Closes the connections that are replaced.
    private static func connect(
        _ owner: UInt32, _ standing: ConnectionShares.Standing = .ordinary, times: Int = 5000,
        in shares: inout ConnectionShares
    ) {
        for _ in 0..<times {
            switch shares.decision(owner: owner, standing: standing) {
            case .admit: break
            case .replace(let other): shares.closed(owner: other, standing: .ordinary)
            case .refuse: return
            }
            shares.opened(owner: owner, standing: standing)
        }
    }

    @Test("However many users take all they can get, a new user is admitted, at the expense of a user with more")
    func newcomer() {
        var shares = Self.shares(total: 512, perUser: 128)
        for owner in 1...40 as ClosedRange<UInt32> {
            Self.connect(owner, in: &shares)
            switch shares.decision(owner: 2000, standing: .ordinary) {
            case .admit: break
            case .replace(let other): #expect(shares.count(of: other) > 1)
            case .refuse: Issue.record("A new user was refused besides \(owner) others")
            }
        }
    }

    @Test("A freed slot is not for users who already have many connections")
    func freedSlot() {
        var shares = Self.shares(total: 512, perUser: 512)
        for owner in 1...20 as ClosedRange<UInt32> { Self.connect(owner, in: &shares) }
        shares.closed(owner: 1, standing: .ordinary)
        for owner in 2...8 as ClosedRange<UInt32> {
            #expect(shares.decision(owner: owner, standing: .ordinary) != .admit)
        }
        #expect(shares.decision(owner: 2000, standing: .ordinary) == .admit)
    }

    @Test("A user's share shrinks as more users connect, down to an equal share for all")
    func shrinking() {
        var shares = Self.shares()
        var counts: [Int] = []
        for owner in 1...6 as ClosedRange<UInt32> {
            Self.connect(owner, in: &shares)
            counts.append(shares.count(of: 1))
        }
        #expect(counts.first == 1024)
        #expect(zip(counts, counts.dropFirst()).allSatisfy { $0 >= $1 })
        let last = (1...6 as ClosedRange<UInt32>).map { shares.count(of: $0) }
        #expect(last.allSatisfy { (400...640).contains($0) }, "\(last)")
        #expect(last.reduce(0, +) <= 4096 - 256)
    }

    @Test("Root, the daemon's own user and operators are admitted even if others have taken all they can get")
    func reserve() {
        var shares = Self.shares()
        for owner in 1...20 as ClosedRange<UInt32> { Self.connect(owner, in: &shares) }
        for standing in [.root, .daemonUser, .operator] as [ConnectionShares.Standing] {
            #expect(shares.decision(owner: 990, standing: standing) == .admit)
        }
        // Operators who use up the reserve take nothing from root.
        for owner in 200...205 as ClosedRange<UInt32> {
            for _ in 0..<256 where shares.decision(owner: owner, standing: .operator) == .admit {
                shares.opened(owner: owner, standing: .operator)
            }
        }
        guard case .replace(let owner) = shares.decision(owner: 0, standing: .root) else {
            Issue.record("root was not admitted")
            return
        }
        #expect(owner != 0)
    }

    @Test("No connection is closed for a user who already has an equal share")
    func equalShare() {
        var shares = Self.shares(total: 64, perUser: 64)
        for owner in 1...3 as ClosedRange<UInt32> { Self.connect(owner, in: &shares) }
        for owner in 1...3 as ClosedRange<UInt32> {
            #expect(shares.decision(owner: owner, standing: .ordinary) == .refuse)
        }
    }

    @Test("Root may have all connections, and root's connections are never closed for others")
    func root() {
        var shares = Self.shares(total: 32, perUser: 4)
        Self.connect(0, .root, in: &shares)
        #expect(shares.count(of: 0) == 32)
        #expect(shares.decision(owner: 0, standing: .root) == .refuse)
        #expect(shares.decision(owner: 7, standing: .ordinary) == .refuse)
        #expect(shares.decision(owner: 8, standing: .operator) == .refuse)
        shares.closed(owner: 0, standing: .root)
        #expect(shares.decision(owner: 8, standing: .operator) == .admit)
    }

    @Test("The smallest limit admits one connection, and a connection of root replaces it")
    func smallest() {
        var shares = Self.shares(total: 1, perUser: 1)
        #expect(shares.decision(owner: 5, standing: .ordinary) == .admit)
        shares.opened(owner: 5, standing: .ordinary)
        #expect(shares.decision(owner: 6, standing: .ordinary) == .refuse)
        #expect(shares.decision(owner: 0, standing: .root) == .replace(owner: 5))
        shares.closed(owner: 5, standing: .ordinary)
        #expect(shares.userCount == 0)
    }
}
