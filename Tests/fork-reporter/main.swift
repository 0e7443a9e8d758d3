// Reports by the client library, forks in the midst of it, and goes on as two: for a test.
//
//   fork-reporter COUNT     COUNT issues before the fork, and COUNT of each process behind it
//
//   fork-reporter images    forks again and again while another thread looks at what is loaded, as each child does
//
//   fork-reporter halves    forks again and again while another thread does something in two halves, and a third waits
//
// Ends with 0 where all issues of both processes were answered.

import CProcesses
import Issues
import Synchronization
import UnixIO

if CommandLine.arguments.last == "images" {
    // What is made for the first time, a fork of a program's own must not meet half made; the library sees to its own.
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
