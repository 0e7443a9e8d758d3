import IssueCommands
import IssueProtocol
import Issues
import Testing
import UnixIO

@Suite("issuectl deploy and deploys")
struct DeployTests {
    private static let shop = """
        {"app":"shop","uid":1000,"version":"2.4.0","at":"2026-11-21T11:00:00.000Z","observed":false,\
        "commit":"3f1c9d2","note":"Faster","by":0}
        """
    private static let seen = """
        {"app":"backup","version":"7","at":"2026-11-20T12:00:00.000Z","observed":true,"uid":34}
        """

    @Test("deploy sends what was given, and says since when the version is deployed")
    func deploy() {
        let plain = issuectl(["deploy", "shop", "2.4.0"], .reply(#"{"deployment":\#(Self.shop)}"#))
        #expect(plain.code == .success)
        #expect(plain.calls == [#"Deploy {"app":"shop","version":"2.4.0"}"#])
        #expect(plain.output == lines("shop 2.4.0 is deployed, since 2026-11-21T11:00:00.000Z (1 h ago)"))
        let full = issuectl(
            [
                "deploy", "shop", "2.4.0", "--at", "1h", "--commit", "3f1c9d2", "--note", "Faster", "--user", "1000",
            ], .reply(#"{"deployment":\#(Self.shop),"known":true}"#))
        #expect(
            full.calls == [
                #"Deploy {"app":"shop","version":"2.4.0","at":"2026-11-21T11:00:00.000Z","commit":"3f1c9d2","#
                    + #""note":"Faster","user":1000}"#
            ])
        #expect(full.output == lines("shop 2.4.0 was already deployed, since 2026-11-21T11:00:00.000Z (1 h ago)"))
        let json = issuectl(["deploy", "shop", "2.4.0", "--ndjson"], .reply(#"{"deployment":\#(Self.seen)}"#))
        #expect(json.output == lines(#"{"deployment":\#(Self.seen)}"#))
    }

    @Test("deploy --remove removes the deployment of a version")
    func remove() {
        let outcome = issuectl(
            ["deploy", "--remove", "shop", "2.4.0", "--user", "1000"], .reply(#"{"deployment":\#(Self.shop)}"#))
        #expect(outcome.calls == [#"RemoveDeployment {"app":"shop","version":"2.4.0","user":1000}"#])
        #expect(
            outcome.output == lines("Removed the deployment of shop 2.4.0 at 2026-11-21T11:00:00.000Z (1 h ago)"))
        let absent = issuectl(["deploy", "--remove", "shop", "9"], .failure(.refused(.notFound(id: "shop 9"))))
        #expect(
            absent.errors
                == lines(
                    "issuectl: no deployment of shop 9 was declared for you (for operators: for all users): see the "
                        + "column USER of issuectl deploys shop"
                ))
        #expect(issuectl(["deploy", "--remove", "shop", "9", "--at", "1h"]).code == .usage)
    }

    @Test("deploy requires an application and a version, and rejects a time in the future")
    func wrong() {
        for (words, message) in [
            (["deploy"], "missing argument APP"), (["deploy", "shop"], "missing argument VERSION"),
            (["deploy", "", "1"], "the argument APP is empty"),
            (["deploy", "shop", ""], "the argument VERSION is empty"),
            (["deploy", "shop", "1", "2"], "unexpected argument '2'"),
            (["deploy", "shop", "1", "--at", "2026-11-22"], "2026-11-22"),
            (["deploy", "shop", "1", "--user", "me"], "me"),
        ] {
            let outcome = issuectl(words)
            #expect(outcome.code == .usage)
            #expect(outcome.errors.contains(message), "\(words)")
            #expect(outcome.calls.isEmpty)
        }
    }

    @Test("A user who may not declare a deployment is told why")
    func denied() {
        for words in [["deploy", "shop", "2.4.0"], ["deploy", "shop", "2.4.0", "--remove"]] {
            let outcome = issuectl(words, .failure(.refused(.denied)))
            #expect(outcome.code == .refused)
            #expect(outcome.errors.contains("only for your own user, and not as nobody or a dynamic user"))
        }
    }

    @Test("deploys lists deployments, and distinguishes declared from observed ones")
    func list() {
        let reply = #"{"deployments":[\#(Self.shop),\#(Self.seen)]}"#
        let outcome = issuectl(["deploys"], .reply(reply))
        #expect(outcome.calls == [#"Deployments {"limit":50}"#])
        #expect(
            outcome.output
                == lines(
                    """
                    DEPLOYED   APP     VERSION  USER  BY      COMMIT   NOTE
                    1 h ago    shop    2.4.0    1000  user 0  3f1c9d2  Faster
                    1 day ago  backup  7        34    report  -        seen in a report
                    """))
        #expect(
            issuectl(["deploys", "shop", "-n", "1"], .reply(reply)).calls == [#"Deployments {"app":"shop","limit":1}"#])
        let json = issuectl(["deploys", "--ndjson"], .reply(reply))
        #expect(json.output == lines("\(Self.shop)\n\(Self.seen)"))
        #expect(issuectl(["deploys"], .reply(#"{"deployments":[]}"#)).output == lines("No deployments."))
        #expect(
            issuectl(["deploys", "shop"], .reply(#"{"deployments":[]}"#)).output
                == lines("No deployments of this application."))
        #expect(issuectl(["deploys", "--all", "--limit", "3"]).code == .usage)
    }
}
