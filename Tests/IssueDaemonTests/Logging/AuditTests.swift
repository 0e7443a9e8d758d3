import IssueProtocol
import Testing

@testable import IssueDaemon

@Suite("Requests of operators in the diagnostic log")
struct AuditTests {
    @Test("A purge is logged with its conditions, except those that may contain the text to be erased")
    func purge() throws {
        var filter = IssueFilter(
            apps: ["shop"], level: .error, text: "secret", groups: ["g92c9da597585468b"], since: .epoch, until: .epoch)
        filter.versions = ["2.0"]
        filter.environments = ["production"]
        filter.domains = ["Shop.Refused"]
        filter.codes = [7]
        filter.files = ["Cart.swift"]
        filter.metadata = ["card=secret", "name=secret"]
        filter.users = [1001]
        filter.units = ["shop.service"]
        filter.states = [.open]
        filter.sinceDeployment = .gone
        filter.outcomes = [.pending]
        filter.destination = "logzio"
        filter.traceIDs = ["secret"]
        filter.requestIDs = ["secret"]
        filter.endUsers = ["secret", "secret"]
        let audit = try #require(Job.Work.purge(PurgeParameters(filter: filter, isDryRun: false)).audit)
        #expect(audit.request == "purge")
        #expect(
            audit.parameters
                == #"""
                {"filter":{"apps":["shop"],"versions":["2.0"],"environments":["production"],"severity":"error",\#
                "domains":["Shop.Refused"],"codes":[7],"files":["Cart.swift"],"text":"(left out)",\#
                "metadata":["(left out)"],"groups":["g92c9da597585468b"],"users":[1001],"units":["shop.service"],\#
                "states":["open"],"since_deploy":"gone","fates":["pending"],"destination":"logzio",\#
                "since":"1970-01-01T00:00:00.000Z","until":"1970-01-01T00:00:00.000Z","trace_ids":["(left out)"],\#
                "request_ids":["(left out)"],"end_users":["(left out)"]},"dry_run":false}
                """#)
        #expect(Job.Work.purge(PurgeParameters(filter: filter, isDryRun: true)).audit == nil)
    }

    @Test("The log of a purge has no value of a condition unless its name is known to be harmless")
    func unknown() throws {
        let harmless: Set = [
            "apps", "versions", "environments", "severity", "domains", "codes", "files", "groups", "users", "units",
            "states", "since_deploy", "fates", "destination", "since", "until",
        ]
        for (name, _) in JSONMembers.names(of: IssueFilter.self) where !harmless.contains(name) {
            let values = [#""secret""#, #"["secret"]"#]
            let filter = try #require(values.lazy.compactMap { try? IssueFilter(json: "{\"\(name)\":\($0)}") }.first)
            let audit = try #require(Job.Work.purge(PurgeParameters(filter: filter)).audit)
            #expect(audit.parameters.contains(name) && !audit.parameters.contains("secret"))
        }
    }
}
