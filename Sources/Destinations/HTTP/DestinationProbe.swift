import HTTPTransfer
import IssueCore
package import IssueProtocol

/// The result of testing a destination or notifier without storing anything.
package struct DestinationProbe: Equatable, Sendable {
    /// Whether the test succeeded. If only a connection was tested, records may be refused nevertheless.
    package var isAccepted: Bool
    /// A description of the success, or of the reason for the failure.
    package var message: String
    /// The recommended action; nil if there is none.
    package var advice: String?
    /// The time by which the clock of the destination is ahead of this host's clock; negative if it is behind. Nil if
    /// unknown.
    package var clockSkew: Duration?

    package init(isAccepted: Bool, message: String, advice: String? = nil, clockSkew: Duration? = nil) {
        self.isAccepted = isAccepted
        self.message = message
        self.advice = advice
        self.clockSkew = clockSkew
    }

    /// Connects to the host of a request and sends nothing. Uses TLS if the scheme of the URL is `https`. If the scheme
    /// is `http` and there is an HTTP proxy, connects only to the proxy.
    ///
    /// - Parameter message: The message if the connection succeeds.
    init(connecting request: HTTPRequest, _ message: String) {
        var client = StreamClient()
        do throws(HTTPTransferError) {
            try client.send([], to: request)
            self.init(isAccepted: true, message: message)
        } catch {
            self.init(isAccepted: false, message: error.message)
        }
    }

    /// The largest difference between two clocks that causes no warning.
    package static let acceptableSkew: Duration = .seconds(60)

    /// Whether the clocks differ by more than `acceptableSkew`.
    package var hasClockSkew: Bool {
        guard let clockSkew else { return false }
        return clockSkew > Self.acceptableSkew || clockSkew < .zero - Self.acceptableSkew
    }
}

extension HTTPFormat {
    /// The maximum time for a probe.
    private var probeTimeout: Duration { .seconds(10) }

    /// Tests the name lookup, the connection, TLS, the credential and, if the server checks it, the schema. Blocks the
    /// calling thread for about 10 seconds at most.
    ///
    /// - Parameters:
    ///   - token: The credential; nil if there is none.
    ///   - now: Returns the wall time.
    package func probe(token: ShippingToken?, now: () -> IssueTimestamp) -> DestinationProbe {
        var request = http.request(within: probeTimeout)
        completeProbe(&request, token: token)
        var client = HTTPClient()
        do throws(HTTPTransferError) {
            let before = now()
            let response = try client.perform(request)
            return Self.probe(response, origin: http.address.origin, before: before, now: now())
        } catch {
            return Self.failure(DeliveryResult(error))
        }
    }

    private static func failure(_ result: DeliveryResult) -> DestinationProbe {
        var probe = DestinationProbe(isAccepted: false, message: result.summary.text)
        if case .paused(let reason) = result.verdict { probe.advice = advice(on: reason) }
        return probe
    }

    /// Evaluates the response to a probe. `before` and `now` are the wall times before and after the request.
    static func probe(
        _ response: HTTPResponse, origin: String, before: IssueTimestamp, now: IssueTimestamp
    ) -> DestinationProbe {
        let skew = clockSkew(of: response, before: before, now: now)
        if acceptsProbe(response) {
            return DestinationProbe(isAccepted: true, message: "\(response.status) from \(origin)", clockSkew: skew)
        }
        var probe = failure(result(of: response, lines: 1, from: origin, at: now))
        probe.clockSkew = skew
        return probe
    }

    /// Returns by how much the `Date` header is later than `now` or, as a negative value, earlier than `before`; zero
    /// if it may lie between the two. Nil if there is no valid header.
    private static func clockSkew(
        of response: HTTPResponse, before: IssueTimestamp, now: IssueTimestamp
    ) -> Duration? {
        guard let date = response.headers["Date"].flatMap({ RetryAfter.date($0, at: now) }) else { return nil }
        let time = date.millisecondsSince1970
        // The header has whole seconds.
        if time + 1000 < before.millisecondsSince1970 {
            return .milliseconds(time + 1000 - before.millisecondsSince1970)
        }
        return time > now.millisecondsSince1970 ? .milliseconds(time - now.millisecondsSince1970) : .zero
    }
}

extension LogzFormat {
    /// Connects to the listener for streams and sends nothing. The listener never responds, so only the connection is
    /// tested.
    package func probeStream() -> DestinationProbe {
        DestinationProbe(
            connecting: http.request(within: .seconds(10)),
            "connected to \(http.address.origin), which does not check the token")
    }
}
