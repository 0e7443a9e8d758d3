// A test program that reports with the client library and forks meanwhile.
//
//   fork-reporter COUNT     sends COUNT issues before the fork, and COUNT from each process after it
//
//   fork-reporter images    forks repeatedly while another thread and each child list the loaded images
//
//   fork-reporter halves    forks repeatedly while another thread makes a change in two steps, and a third thread waits
//
//   fork-reporter awaited COUNT
//                           awaits the fates of COUNT issues and forks meanwhile; the children outlive the waiting
//
// Ends with 0 if all issues were answered, no child saw an inconsistent state and all children ended with 0.

import CProcesses
import Issues
import Synchronization
import UnixIO

if CommandLine.arguments.last == "images" {
    // Lazy values are initialised first, because a fork must not interrupt their initialisation. The threads of the
    // library delay forks for that purpose, but the threads of this program do not.
    _ = LoadedImage.all
    _ = try Thread.start(name: "looker") {
        while !LoadedImage.all.isEmpty {}
    }
    for _ in 1...500 {
        let child = processes_fork()
        if child == 0 { processes_end(LoadedImage.all.isEmpty ? 1 : 0) }
        guard processes_wait(child) == 0 else { processes_exit(1) }
    }
    processes_exit(0)
}

if CommandLine.arguments.last == "halves" {
    let first = Atomic(0)
    let second = Atomic(0)
    _ = try Thread.start(name: "worker") {
        while true {
            Forks.heldOff {
                first.add(1, ordering: .sequentiallyConsistent)
                second.add(1, ordering: .sequentiallyConsistent)
            }
        }
    }
    _ = try Thread.start(name: "waiter") {
        Forks.heldOff {
            guard let ends = try? DescriptorPair.pipe() else { processes_exit(1) }
            _ = try? Readiness.wait(ends.first, for: .read)
        }
    }
    for _ in 1...500 {
        let child = processes_fork()
        if child == 0 {
            let isWhole = first.load(ordering: .relaxed) == second.load(ordering: .relaxed)
            processes_end(isWhole ? 0 : 1)
        }
        guard processes_wait(child) == 0 else { processes_exit(1) }
    }
    processes_exit(0)
}

let count = Int(CommandLine.arguments.last ?? "") ?? 0

if CommandLine.arguments.dropFirst().first == "awaited" {
    let ends = try DescriptorPair.pipe()
    let left = Monitor(count)
    let receipts = (1...count).map { DaemonReporter.daemon.submit(IssueReport("Awaited \($0)", level: .warning)) }
    for receipt in receipts {
        Task.detached {
            let fates = try await receipt.delivered(timeout: .seconds(60))
            guard fates.map(\.outcome) == [.delivered] else { processes_exit(2) }
            left.withLock { $0 -= 1 }
            left.broadcast()
        }
    }
    // The children have copies of all descriptors. These must neither keep connections open nor disturb the parent.
    var children: [pid_t] = []
    for _ in 1...20 {
        let child = processes_fork()
        if child == 0 {
            _ = try? Readiness.wait(ends.first, for: .read)
            processes_end(0)
        }
        children.append(child)
    }
    let deadline = MonotonicClock.now.advanced(by: .seconds(90))
    guard left.wait(deadline: deadline, until: { $0 == 0 ? true : nil }) == true else { processes_exit(3) }
    // The thread ends when its connections are idle.
    while CollectorClient.current.isRunning {
        guard MonotonicClock.now < deadline else { processes_exit(4) }
        _ = left.wait(deadline: MonotonicClock.now.advanced(by: .milliseconds(10))) { _ -> Bool? in nil }
    }
    try ends.second.writeAll([0])
    processes_exit(children.allSatisfy { processes_wait($0) == 0 } ? 0 : 5)
}

func report(_ who: String) {
    withIssueReporters([.daemon]) {
        for number in 1...count { reportIssue("\(who) \(number)") }
    }
}

// Not flushed, so that at the fork some issues are in the buffer and some are being sent.
report("Before")
let child = processes_fork()
report(child == 0 ? "Child" : "Parent")
let isAnswered = flushIssues(timeout: .seconds(60))
if child == 0 { processes_exit(isAnswered ? 0 : 1) }
let end = processes_wait(child)
processes_exit(isAnswered && end == 0 ? 0 : 1)
