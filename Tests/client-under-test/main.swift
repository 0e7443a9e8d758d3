// A test program that reports with the client library and ends in one of several ways.
//
//   client-under-test return COUNT NAME           sends COUNT reports to the daemon, then returns from main
//   client-under-test fatal-reporter COUNT NAME   also sends the last one to a reporter that ends the process
//   client-under-test precondition COUNT NAME     makes the last one a failed precondition
//   client-under-test threads COUNT NAME          sends COUNT reports from each of 64 threads
//   client-under-test nested COUNT NAME           uses a reporter that itself reports an issue for each one it receives
//   client-under-test settings COUNT NAME         sends COUNT reports of each level without setting reporters
//   client-under-test receipts COUNT PLAN         sends COUNT reports according to Receipts and prints what is stored
//   client-under-test await COUNT NAME            awaits the delivery of COUNT reports at once
//   client-under-test exhausted COUNT NAME        awaits the delivery of a report while no descriptor is free

import Issues
import UnixIO

struct Echo: IssueSink {
    func receive(_ report: IssueReport) {
        // This report is only written to standard error; it is not passed to this reporter again.
        Issues.reportIssue("echo of \(report.message)")
    }
}

let arguments = CommandLine.arguments
guard arguments.count == 4, let count = Int(arguments[2]) else { CurrentProcess.exit(64) }
let name = arguments[3]

enum Work {
    static func report(_ numbers: ClosedRange<Int>, from who: String) {
        withIssueReporters([.daemon]) {
            for number in numbers { reportIssue("\(who) \(number)") }
        }
    }
}

switch arguments[1] {
case "return":
    Work.report(1...count, from: name)
case "fatal-reporter":
    Work.report(1...count - 1, from: name)
    withIssueReporters([.daemon, .fatalError]) { reportIssue("\(name) \(count)") }
case "precondition":
    Work.report(1...count - 1, from: name)
    withIssueReporters([.daemon]) { Reported.precondition(count < 0, "\(name) \(count)") }
case "threads":
    let left = Monitor(64)
    for thread in 1...64 {
        _ = try Thread.start(name: "reporter-\(thread)") {
            Work.report(1...count, from: "\(name) \(thread)")
            left.withLock { $0 -= 1 }
            left.broadcast()
        }
    }
    _ = left.wait { $0 == 0 ? true : nil }
    flushIssues(timeout: .seconds(60))
case "nested":
    withIssueReporters([Echo(), .daemon]) {
        for number in 1...count { reportIssue("\(name) \(number)") }
    }
case "settings":
    for number in 1...count {
        for level in IssueLevel.allCases { reportIssue("\(name) \(level) \(number)", level: level) }
    }
case "await":
    AwaitedReceipts(count: count, name: name).run()
case "exhausted":
    ExhaustedDescriptors(name: name).run()
case "receipts":
    guard let receipts = Receipts(count: count, plan: name) else { CurrentProcess.exit(64) }
    receipts.run()
default:
    CurrentProcess.exit(64)
}
