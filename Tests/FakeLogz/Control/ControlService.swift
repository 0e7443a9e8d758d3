import IssueProtocol
import UnixIO

/// Serves the control port, which no fault affects.
struct ControlService: Sendable {
    let control: ListenerControl
    let socket: OpenSocket

    func run() {
        var input = HTTPInput(socket)
        while input.waitForRequest() {
            do throws(ConnectionEnd) {
                let head = try input.head()
                var body: [UInt8] = []
                if head.expectsContinue { try? socket.descriptor.sendAll(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
                try input.body(of: head, into: &body)
                let answer = answer(to: head, body: body)
                guard (try? socket.descriptor.sendAll(answer.bytes(closing: !head.keepsAlive))) != nil else { return }
                // Only now, since the response would be lost otherwise.
                if head.path == "/quit", answer.status == 200 { control.quit() }
                guard head.keepsAlive else { return }
            } catch .malformed {
                try? socket.descriptor.sendAll(HTTPAnswer(status: 400).bytes(closing: true))
                return
            } catch {
                return
            }
        }
    }

    private func answer(to head: RequestHead, body: [UInt8]) -> HTTPAnswer {
        switch (head.method, head.path) {
        case ("POST", "/plan"): plan(body)
        case ("POST", "/tokens"): tokens(body)
        case ("POST", "/expect"): expect(body)
        case ("POST", "/reset"): done { () throws(Errno) in try control.reset() }
        case ("POST", "/down"): done { () throws(Errno) in try control.down() }
        case ("POST", "/up"): done { () throws(Errno) in try control.up() }
        case ("POST", "/quit"): done { () throws(Errno) in }
        case ("GET", "/stats"): stats(200)
        case ("GET", "/wait"): wait(head)
        case ("GET", "/requests"): requests(since: head.query("since").flatMap { Int($0) } ?? 0)
        case ("GET", "/accepted"): accepted()
        default: .text(404, "Unknown request: \(head.method) \(head.path)\n")
        }
    }

    private func plan(_ body: [UInt8]) -> HTTPAnswer {
        do throws(FaultPlanError) {
            let steps = try FaultStep.steps(json: body)
            return done { () throws(Errno) in try control.plan(steps) }
        } catch {
            return .text(400, "\(error)\n")
        }
    }

    private func tokens(_ body: [UInt8]) -> HTTPAnswer {
        guard let value = try? JSONValue(json: body), value.asObject != nil,
            let added = texts(value["add"] ?? .array([])), let revoked = texts(value["revoke"] ?? .array([]))
        else { return .text(400, "Expected {\"add\": […], \"revoke\": […]}.\n") }
        control.changeTokens(adding: added, revoking: revoked)
        return HTTPAnswer(status: 200)
    }

    private func expect(_ body: [UInt8]) -> HTTPAnswer {
        guard let value = try? JSONValue(json: body), let ids = texts(value) else {
            return .text(400, "Expected an array of values of event_id.\n")
        }
        let expectation = control.compare(with: ids)
        return json(expectation.isMet ? 200 : 409) { expectation.write(to: &$0) }
    }

    private func wait(_ head: RequestHead) -> HTTPAnswer {
        let timeout = head.query("timeout").map { Double($0) } ?? 10
        let counts = ["accepted", "requests"].map { name in head.query(name).map { Int($0) } ?? 0 }
        guard let timeout, (0...600).contains(timeout), let accepted = counts[0], let requests = counts[1] else {
            return .text(400, "Expected /wait?accepted=N&requests=N&timeout=SECONDS with at most 600 seconds.\n")
        }
        let deadline = MonotonicClock.now.advanced(by: .seconds(timeout))
        return stats(control.wait(accepted: accepted, requests: requests, deadline: deadline) ? 200 : 504)
    }

    private func stats(_ status: Int) -> HTTPAnswer {
        let stats = control.stats
        return json(status) { stats.write(to: &$0) }
    }

    private func requests(since number: Int) -> HTTPAnswer {
        let requests = control.core.state.withLock { state in state.requests.filter { $0.number > number } }
        return json(200) { writer in
            writer.array { writer in
                for request in requests { request.write(to: &writer) }
            }
        }
    }

    private func accepted() -> HTTPAnswer {
        let lines = control.core.state.withLock { $0.accepted }
        return json(200) { writer in
            writer.array { writer in
                for line in lines { line.write(to: &writer) }
            }
        }
    }

    private func done(_ work: () throws(Errno) -> Void) -> HTTPAnswer {
        do throws(Errno) {
            try work()
            return HTTPAnswer(status: 200)
        } catch {
            return .text(500, "\(error)\n")
        }
    }

    private func json(_ status: Int, _ write: (inout JSONWriter) -> Void) -> HTTPAnswer {
        var writer = JSONWriter()
        write(&writer)
        writer.endText(with: 0x0A)
        return .json(status, writer.bytes)
    }

    private func texts(_ value: JSONValue) -> [String]? {
        guard let elements = value.asArray else { return nil }
        let texts = elements.compactMap(\.asString)
        return texts.count == elements.count ? texts : nil
    }
}
