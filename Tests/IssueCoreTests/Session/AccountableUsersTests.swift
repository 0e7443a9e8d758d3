import IssueCore
import Testing

@Suite("The user accountable for a user id")
struct AccountableUsersTests {
    private let passwd = Array(
        """
        root:x:0:0:root:/root:/bin/bash
        daemon:x:1:1::/:/usr/sbin/nologin
        alice:x:1001:1001::/home/alice:/bin/bash
        bob:x:1002:1002::/home/bob:/bin/bash

        """.utf8)

    private func users(_ subuid: String, hasContainerUsers: Bool = true) -> AccountableUsers {
        AccountableUsers(subordinates: Array(subuid.utf8), users: passwd, hasContainerUsers: hasContainerUsers)
    }

    @Test("Subordinate ids count as their owner, and all others as themselves")
    func subordinates() {
        let users = users("alice:100000:65536\nbob:165536:65536\nalice:300000:10\n1003:400000:65536\n")
        #expect([100_000, 123_456, 165_535, 300_009].map { users.owner(of: $0) } == [1001, 1001, 1001, 1001])
        #expect([165_536, 231_071].map { users.owner(of: $0) } == [1002, 1002])
        #expect(users.owner(of: 400_001) == 1003)
        let themselves: [UInt32] = [0, 1, 1001, 65_534, 65_536, 99_999, 231_072, 300_010, 524_287, .max]
        for uid in themselves { #expect(users.owner(of: uid) == uid) }
    }

    @Test("Each systemd container counts as one user, unless people have such ids")
    func containers() {
        let users = users("")
        #expect(users.owner(of: 524_288) == 524_288)
        #expect(users.owner(of: 524_288 + 65_535) == 524_288)
        #expect(users.owner(of: 524_288 + 65_536) == 524_288 + 65_536)
        #expect(users.owner(of: 1_879_048_191) == 1_879_048_191 - 65_535)
        #expect(users.owner(of: 1_879_048_192) == 1_879_048_192)
        #expect(users.isRecycled(600_000) && !users.isRecycled(524_287))
        let directory = self.users("", hasContainerUsers: false)
        #expect(directory.owner(of: 600_001) == 600_001)
        #expect(!directory.isRecycled(600_001))
    }

    @Test("Each container in a range that a service hands out counts as one user, and none as root")
    func pools() {
        let users = users("root:1000000:1000000000\ncontainers:2147483647:2147483648\ndaemon:200000:65536\n")
        #expect(users.owner(of: 1_000_007) == 1_000_000)
        #expect(users.owner(of: 1_065_536) == 1_065_536)
        #expect(users.owner(of: 2_147_483_700) == 2_147_483_647)
        #expect(users.owner(of: 200_005) == 200_000)
        #expect(!users.isRecycled(1_000_007))
    }

    @Test("A line of /etc/subuid cannot claim the ids of ordinary users, whatever name it has")
    func ordinaryUsers() {
        let users = users("root:1000:1\nalice:0:70000\n")
        for uid in [0, 1000, 1001, 1002, 65_535] as [UInt32] { #expect(users.owner(of: uid) == uid) }
        #expect(users.owner(of: 65_537) == 1001)
    }

    @Test("If ranges overlap, each id has one owner")
    func overlaps() {
        let users = users("bob:150000:100000\nalice:100000:65536\nbob:4294967290:100\nalice:4294967295:1\n")
        #expect(users.owner(of: 160_000) == 1001)
        #expect(users.owner(of: 165_536) == 1002)
        #expect(users.owner(of: .max) == 1002)
    }

    @Test(
        "Invalid lines are skipped",
        arguments: [
            "", "\n\n", "alice", "alice:", "alice:100000", "alice:100000:", "alice:100000:0", "alice:-1:5",
            ":100000:65536", "alice:100000:65536:7", "alice:99999999999:1", "alice:4294967296:1", "\u{0}:x:y",
            "# a comment", "alice: 100000:65536",
        ])
    func unreadable(line: String) {
        let users = users(line + "\nbob:200000:65536\n")
        #expect(users.owner(of: 100_000) == 100_000)
        #expect(users.owner(of: 200_000) == 1002)
    }

    @Test("Of an oversized file, only as many valid lines as the limit allows are used")
    func many() {
        let lines = (0..<UInt32(AccountableUsers.maxRanges + 10)).map { "alice:\(100_000 + 2 * $0):1" }
        let users = users(lines.joined(separator: "\n"))
        #expect(users.owner(of: 100_000) == 1001)
        #expect(users.owner(of: 100_000 + 2 * UInt32(AccountableUsers.maxRanges)) != 1001)
    }
}
