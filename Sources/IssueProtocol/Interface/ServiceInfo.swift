package import IssueWire

/// What `org.varlink.service.GetInfo` answers.
package struct ServiceInfo: Equatable, Sendable {
    package var vendor: String
    package var product: String
    package var version: String
    package var url: String
    package var interfaces: [String]

    package init(vendor: String, product: String, version: String, url: String, interfaces: [String]) {
        self.vendor = vendor
        self.product = product
        self.version = version
        self.url = url
        self.interfaces = interfaces
    }
}

extension ServiceInfo: JSONCodable {
    package init(from scanner: inout JSONScanner) throws(FieldError) {
        var vendor: String?
        var product: String?
        var version: String?
        var url: String?
        var interfaces: [String] = []
        try scanner.openFields()
        while let key = try scanner.nextField() {
            switch key {
            case "vendor": try scanner.read(&vendor, key)
            case "product": try scanner.read(&product, key)
            case "version": try scanner.read(&version, key)
            case "url": try scanner.read(&url, key)
            case "interfaces": try scanner.read(&interfaces, key)
            default: try scanner.skipField(key)
            }
        }
        self.init(
            vendor: try vendor.required("vendor"),
            product: try product.required("product"),
            version: try version.required("version"),
            url: try url.required("url"),
            interfaces: interfaces
        )
    }

    package func write(to writer: inout JSONWriter) {
        writer.openObject()
        writer.member("vendor", vendor)
        writer.member("product", product)
        writer.member("version", version)
        writer.member("url", url)
        writer.member("interfaces", interfaces)
        writer.closeObject()
    }
}
