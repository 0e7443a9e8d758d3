import IssueProtocol

/// Calls and replies are unchanged after reading, writing and reading them again.
///
/// Input: a message.
enum EnvelopeHarness {
    static func run(_ input: Span<UInt8>) {
        checkCall(input)
        checkReply(input)
    }

    private static func checkCall(_ input: Span<UInt8>) {
        do throws(VarlinkError) {
            let envelope = try VarlinkCall.Envelope(scanning: input)
            let call = try VarlinkCall(decoding: input)
            require(isJSON(input.array()), "Invalid JSON was accepted as a call")
            if let range = envelope.parameters {
                require(input.extracting(range).array() == call.parameters, "The range of the parameters is wrong")
            } else {
                require(call.parameters == Array("{}".utf8), "A call without parameters has some")
            }
            require(call.parameters.first == UInt8(ascii: "{"), "The parameters are not an object")
            require(isJSON(call.parameters), "The parameters are not JSON")
            let message = call.message
            require(
                message.last == 0 && !message.dropLast().contains(0),
                "A message does not have exactly one NUL, at its end")
            let again = try VarlinkCall(decoding: Array(message.dropLast()))
            require(again == call, "\(call) became \(again)")
        } catch {
            checkFailure(error)
        }
    }

    private static func checkReply(_ input: Span<UInt8>) {
        do throws(VarlinkError) {
            let reply = try VarlinkReply(decoding: input)
            require(isJSON(input.array()), "Invalid JSON was accepted as a reply")
            let message = reply.message
            require(
                message.last == 0 && !message.dropLast().contains(0),
                "A message does not have exactly one NUL, at its end")
            let again = try VarlinkReply(decoding: Array(message.dropLast()))
            require(again == reply, "\(reply) became \(again)")
            guard let error = CollectorError(reply) else { return }
            require(!error.description.isEmpty, "An error has no description")
            require(
                CollectorError(error.reply) == error,
                "\(error) became \(String(describing: CollectorError(error.reply)))")
        } catch {
            checkFailure(error)
        }
    }

    private static func checkFailure(_ error: VarlinkError) {
        switch error {
        case .malformed: break
        case .invalid(let field): require(!field.reason.isEmpty, "A message was refused without a reason")
        }
    }

    private static func isJSON(_ bytes: [UInt8]) -> Bool {
        do throws(PlainJSON.Failure) {
            _ = try PlainJSON.value(bytes)
            return true
        } catch {
            return error == .tooDeep
        }
    }
}
