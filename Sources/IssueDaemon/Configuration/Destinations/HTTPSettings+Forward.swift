import HTTPShipping
import IssueCore
import IssueProtocol

extension HTTPSettings {
    /// As a destination's section says it.
    init(_ address: HTTPAddress, caFile: String?, proxy: String?, _ forward: ForwardSettings) {
        self.init(address: address)
        self.caFile = caFile
        self.proxy = proxy
        connectTimeout = forward.connectTimeout
        requestTimeout = forward.requestTimeout
        if !forward.compression { compressionLevel = 0 }
        version = ProductVersion.text
    }
}
