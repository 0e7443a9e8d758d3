import Glibc
import Issues
import Synchronization

// Measures the time that reports take the caller. ISSUED_SOCKET is the path of the daemon's socket.
//
//   client-cost disabled|clock|plain|three-keys|values|threads|idle
//
// Prints one JSON object.

/// Reports per burst: fewer than the buffer holds, so that none is dropped.
let burst = 500
let rounds = 40

/// Returns the mean time of a call, in nanoseconds.
func perCall(_ calls: Int, _ body: (Int) -> Void) -> Double {
    let start = nanoseconds()
    for number in 0..<calls { body(number) }
    return Double(nanoseconds() - start) / Double(calls)
}

/// Times each call of many bursts. A burst begins when the daemon has stored the one before it.
func bursts(_ body: (Int) -> Void) -> Samples {
    var samples = Samples(reserving: burst * rounds)
    for round in 0..<rounds + 3 {
        for number in 0..<burst {
            let start = nanoseconds()
            body(number)
            let time = nanoseconds() - start
            // The first three rounds warm up memory and caches.
            if round >= 3 { samples.add(time) }
        }
        flushIssues(timeout: .seconds(20))
    }
    return samples
}

/// Times two kinds of calls in alternating bursts, so that both are measured under the same load of the machine.
func alternatingBursts(_ first: (Int) -> Void, _ second: (Int) -> Void) -> (Samples, Samples) {
    var samples = (Samples(reserving: burst * rounds), Samples(reserving: burst * rounds))
    for round in 0..<2 * rounds + 6 {
        for number in 0..<burst {
            let start = nanoseconds()
            if round & 1 == 0 { first(number) } else { second(number) }
            let time = nanoseconds() - start
            guard round >= 6 else { continue }
            if round & 1 == 0 { samples.0.add(time) } else { samples.1.add(time) }
        }
        flushIssues(timeout: .seconds(20))
    }
    return samples
}

/// Returns the anonymous memory of this process, in KiB.
func privateKiB() -> Int {
    guard let file = fopen("/proc/self/smaps_rollup", "r") else { return 0 }
    defer { fclose(file) }
    var buffer = [CChar](repeating: 0, count: 8192)
    let count = fread(&buffer, 1, buffer.count - 1, file)
    let text = String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return text.split(separator: "\n").filter { $0.hasPrefix("Anonymous:") }
        .compactMap { Int($0.split(separator: " ")[1]) }.reduce(0, +)
}

func printQuantiles(_ samples: Samples) {
    print("{\"p50\": \(samples.quantile(0.5)), \"p99\": \(samples.quantile(0.99)), \"max\": \(samples.quantile(1))}")
}

switch CommandLine.arguments.dropFirst().first {
case "disabled":
    IssueReporters.current = []
    let calls = 20_000_000
    _ = perCall(1_000_000, Reports.plain)
    let (empty, plain, threeKeys) = (
        perCall(calls, Reports.empty), perCall(calls, Reports.plain), perCall(calls, Reports.threeKeys)
    )
    print("{\"empty\": \(empty), \"plain\": \(plain), \"three_keys\": \(threeKeys)}")
case "clock":
    printQuantiles(bursts(Reports.empty))
case "plain":
    IssueReporters.current = [.daemon]
    printQuantiles(bursts(Reports.plain))
case "three-keys":
    IssueReporters.current = [.daemon]
    printQuantiles(bursts(Reports.threeKeys))
case "values":
    IssueReporters.current = [.daemon]
    let (text, string) = alternatingBursts(Reports.threeValues, Reports.threeValuesAsString)
    print("{\"text\": \(text.quantile(0.5)), \"string\": \(string.quantile(0.5))}")
case "threads":
    IssueReporters.current = [.daemon]
    let all = Mutex(Samples(reserving: 0))
    for round in 0..<rounds + 3 {
        Threads.run(8) { _ in
            var samples = Samples(reserving: burst)
            for number in 0..<burst {
                let start = nanoseconds()
                Reports.threeKeys(number)
                samples.add(nanoseconds() - start)
            }
            if round >= 3 { all.withLock { $0.add(samples) } }
        }
        flushIssues(timeout: .seconds(20))
    }
    printQuantiles(all.withLock { $0 })
case "idle":
    IssueReporters.current = [.daemon]
    print("")
    let before = privateKiB()
    Reports.threeKeys(0)
    let isStored = flushIssues(timeout: .seconds(20))
    // The sender thread is idle by then.
    usleep(500_000)
    print("{\"before_kib\": \(before), \"with_kib\": \(privateKiB()), \"is_stored\": \(isStored)}")
default:
    print("usage: client-cost disabled|clock|plain|three-keys|values|threads|idle")
    exit(64)
}
