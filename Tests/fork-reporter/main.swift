// Reports by the client library, forks in the midst of it, and goes on as two: for a test.
//
//   fork-reporter COUNT     COUNT issues before the fork, and COUNT of each process behind it
//
// Ends with 0 where all issues of both processes were answered.

import CProcesses
import Issues

let count = Int(CommandLine.arguments.last ?? "") ?? 0

func report(_ who: String) {
    withIssueReporters([.daemon]) {
        for number in 1...count { reportIssue("\(who) \(number)") }
    }
}

// Not waited for: at the fork some are in the buffer, and some on their way.
report("Before")
let child = processes_fork()
report(child == 0 ? "Child" : "Parent")
let isAnswered = flushIssues(timeout: .seconds(60))
if child == 0 { processes_exit(isAnswered ? 0 : 1) }
let end = processes_wait(child)
processes_exit(isAnswered && end == 0 ? 0 : 1)
