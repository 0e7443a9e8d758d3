/// An error in the shop.
enum ShopError: Error {
    case outOfStock(article: Int)
    case paymentRefused(reason: String)
    case priceMissing(field: String)
}

/// An error in the communication between the shop and its warehouse.
struct WarehouseError: Error, CustomStringConvertible {
    var shelf: String
    var description: String { "Shelf \(shelf) does not respond" }
}
