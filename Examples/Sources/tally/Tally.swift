import Glibc
import Issues
import IssuesPresenting

/// Prints the word count of a file. If the file can't be read, asks the user what to do.
@main
struct Tally {
    static func main() {
        guard CommandLine.arguments.count == 2 else {
            reportIssue("usage: tally FILE", level: .info)
            exit(64)
        }
        // Responders run after the reporters: standard error, and the daemon if it is running.
        ErrorResponders.root = [.present(on: .terminal)]
        count(CommandLine.arguments[1])
    }

    private static func count(_ path: String) {
        do {
            let count = try TextFile(path: path).wordCount
            print("\(count) words")
        } catch {
            leaveBreadcrumb("cannot count words", metadata: ["path": .init(path)])
            reportIssue(
                IssueProblem(
                    "\(path) can't be read.", source: .externalSystemUnavailable, message: "The file can't be read",
                    userInfo: ["path": .init(path)], cause: error,
                    recovery: .heal(
                        .retry { count(path) },
                        IssueRecovery.Option("Skip the file") { print("0 words") },
                        .cancel)))
        }
    }
}
