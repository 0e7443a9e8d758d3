package import IssueCore
package import IssueProtocol

/// What is stored of a destination beside its batches.
package struct DestinationRow: Equatable, Sendable {
    /// What has to be known again after a restart.
    package struct State: Equatable, Sendable {
        package var progress = RetryProgress()
        /// How often it was tried to send the batch that is under way, or parts of it.
        package var batchAttempts: Int64 = 0
        package var lastAnswer: String?
        package var lastSuccess: Timestamp?
        package var requests: Int64 = 0
        package var resent: Int64 = 0
        package var maybeDuplicate: Int64 = 0
        /// The UTC day that the bytes were counted on, in days since 1970.
        package var day: Int64 = 0
        package var dayBytes: Int64 = 0
        /// Those of them that were sent for each user, and for all users.
        package var dayUsers: [UInt32: Int64] = [:]
        package var dayCharged: Int64 = 0
        /// Which lines may have arrived without an answer that says so, of each batch without an end for which that is
        /// known; of others it may be all.
        package var doubts: [Int64: LineSet] = [:]
        /// What was told last of the destination; nothing where it is well.
        package var told: String?
        /// How the sending was paced, and when that was.
        package var pace: SendPacer.Saved?
        package var pacedAt: Timestamp?

        package init() {}
    }

    package var id: Int64
    package var name: String
    package var cursor: Int64
    /// Up to which record those that are express have been looked at.
    package var express: Int64
    package var state: State
}

extension DestinationRow.State {
    init(json: String) {
        self.init()
        guard let value = try? JSONValue(json: json) else { return }
        progress.attempts = Int(value["attempts"]?.asInteger ?? 0)
        progress.spent = .milliseconds(value["spent"]?.asInteger ?? 0)
        batchAttempts = value["batch_attempts"]?.asInteger ?? 0
        lastAnswer = value["last_answer"]?.asString
        lastSuccess = value["last_success"]?.asInteger.map { Timestamp(milliseconds: $0) }
        requests = value["requests"]?.asInteger ?? 0
        resent = value["resent"]?.asInteger ?? 0
        maybeDuplicate = value["maybe_duplicate"]?.asInteger ?? 0
        day = value["day"]?.asInteger ?? 0
        dayBytes = value["day_bytes"]?.asInteger ?? 0
        dayCharged = value["day_charged"]?.asInteger ?? 0
        for entry in value["day_users"]?.asArray ?? [] {
            guard let pair = entry.asArray?.compactMap(\.asInteger), pair.count == 2,
                let user = UInt32(exactly: pair[0])
            else { continue }
            dayUsers[user] = pair[1]
        }
        told = value["told"]?.asString
        for entry in value["doubts"]?.asArray ?? [] {
            let numbers = entry.asArray?.compactMap(\.asInteger).map { Int(clamping: $0) } ?? []
            guard let batch = numbers.first else { continue }
            let ranges = stride(from: 1, to: numbers.count - 1, by: 2).map {
                numbers[$0]..<max(numbers[$0], numbers[$0 + 1])
            }
            doubts[Int64(batch)] = LineSet(ranges)
        }
        guard let factor = value["pace_factor"]?.asDouble, let level = value["pace_level"]?.asDouble,
            let at = value["paced_at"]?.asInteger
        else { return }
        pace = SendPacer.Saved(factor: factor, level: level, backlog: value["pace_backlog"]?.asDouble ?? level)
        pacedAt = Timestamp(milliseconds: at)
    }

    var json: String {
        var writer = JSONWriter()
        writer.object { object in
            object.member("attempts", Int64(progress.attempts))
            object.member("spent", progress.spent.wholeMilliseconds)
            object.member("batch_attempts", batchAttempts)
            object.member("last_answer", ifPresent: lastAnswer)
            object.member("last_success", ifPresent: lastSuccess?.milliseconds)
            object.member("requests", requests)
            object.member("resent", resent)
            object.member("maybe_duplicate", maybeDuplicate)
            object.member("day", day)
            object.member("day_bytes", dayBytes)
            if !dayUsers.isEmpty {
                object.member("day_charged", dayCharged)
                object.key("day_users")
                object.array { list in
                    for (user, bytes) in dayUsers.sorted(by: { $0.key < $1.key }) {
                        list.array { list in
                            list.integer(Int64(user))
                            list.integer(bytes)
                        }
                    }
                }
            }
            object.member("told", ifPresent: told)
            if !doubts.isEmpty {
                object.key("doubts")
                object.array { list in
                    for (batch, lines) in doubts.sorted(by: { $0.key < $1.key }) {
                        list.array { list in
                            list.integer(batch)
                            for range in lines.ranges {
                                list.integer(Int64(range.lowerBound))
                                list.integer(Int64(range.upperBound))
                            }
                        }
                    }
                }
            }
            if let pace, let pacedAt {
                object.key("pace_factor")
                object.raw("\(pace.factor)")
                object.key("pace_level")
                object.raw("\(pace.level)")
                object.key("pace_backlog")
                object.raw("\(pace.backlog)")
                object.member("paced_at", pacedAt.milliseconds)
            }
        }
        return writer.text
    }
}
