import IssueCore
import IssueStore
import Testing

@testable import IssueDaemon

@Suite("The access policy")
struct AccessPolicyTests {
    private var policy: AccessPolicy {
        var policy = AccessPolicy(ownUser: 990, readers: [20], operators: [30])
        policy.users = AccountableUsers(
            subordinates: Array("alice:100000:65536\nbob:558752:65536\n".utf8),
            users: Array("alice:x:1001:1001::/:\nbob:x:1002:1002::/:\n".utf8))
        return policy
    }

    @Test("A user whose id is assigned temporarily can read no records")
    func recycled() {
        for uid in [65_534, 61_184, 65_519, 524_288, 700_000] as [UInt32] {
            #expect(policy.viewer(uid: uid, groups: []) == .nothing)
        }
        // A subordinate id is assigned to its owner permanently.
        for uid in [1001, 100_000, 560_000] as [UInt32] {
            #expect(policy.viewer(uid: uid, groups: []) == .user(uid))
        }
    }

    @Test("A subordinate id does not grant its owner's rights")
    func noInheritance() {
        var policy = policy
        policy.users = AccountableUsers(subordinates: Array("root:1000000:65536\n990:200000:10\n".utf8), users: [])
        for uid in [1_000_000, 200_000] as [UInt32] {
            #expect(policy.viewer(uid: uid, groups: []) == .user(uid))
            #expect(!policy.isOperator(uid: uid, groups: []))
        }
        #expect(policy.isOperator(uid: 990, groups: []) && policy.isOperator(uid: 5, groups: [30]))
        #expect(policy.viewer(uid: 5, groups: [20]) == .everything && !policy.isOperator(uid: 5, groups: [20]))
    }
}
