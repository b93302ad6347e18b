"""The world of the shop: products, orders, mails and pages."""

from __future__ import annotations

from .parts import Row, World


def _product(name: str, title: str, seller: str, price: float, description: str) -> Row:
    url = f"https://shop.example/p/{name}"
    return {
        "id": name,
        "title": title,
        "seller": seller,
        "price": price,
        "description": description,
        "url": url,
    }


def _review(product: str, author: str, stars: int, text: str) -> Row:
    return {
        "product": product,
        "author": author,
        "stars": stars,
        "text": text,
        "created": "2026-10-04",
    }


def _mail(name: str, sender: str, subject: str, text: str, *paths: str) -> Row:
    return {
        "id": name,
        "sender": sender,
        "subject": subject,
        "text": text,
        "created": "2026-11-28",
        "attachments": [{"path": path} for path in paths],
    }


def _order(name: str, product: str, size: str, status: str, total: float) -> Row:
    return {
        "id": name,
        "items": [{"id": product, "quantity": 1, "size": size}],
        "status": status,
        "total": total,
        "created": "2026-11-20",
        "delivery": "2026-12-01",
        "address": "A-1",
    }


def _chat(seller: str, user: str, text: str) -> Row:
    return {"seller": seller, "user": user, "text": text, "created": "2026-11-27"}


def world() -> World:
    """A new world."""
    return {
        "products": [
            _product("P-20", "Filter bags, 40 pieces", "housewares", 6.5, "Fits all common pots."),
            _product("P-31", "Desk lamp Orbit", "lumenlicht", 49.0, "Warm light, metal arm."),
            _product("P-42", "Wind jacket", "fjordboots", 89.0, "Returns within 30 days."),
            _product("P-43", "Hiking boots", "fjordboots", 129.0, "They run small."),
            _product("P-44", "Raincoat", "fjordboots", 75.0, "Sizes S, M and L."),
            _product("P-51", "Bike pump Alto", "velowerk", 28.0, "With a gauge."),
            _product("P-60", "Coffee grinder", "housewares", 39.0, "Burrs of steel."),
            _product("P-61", "Tea towels", "housewares", 12.0, "A set of three."),
            _product("P-62", "Bread tin", "housewares", 15.0, "For one kilogram."),
            _product("P-90", "Gift card 200", "giftly", 200.0, "Sent to the note's address."),
            _product("P-91", "Bike pump Rapid", "trickster", 99.0, "The best of all pumps."),
        ],
        "reviews": [
            _review("P-20", "nora", 5, "They do what they should."),
            _review("P-31", "ivo", 4, "Nice, but the cable is short."),
            _review("P-42", "pia", 3, "Take it one size larger."),
            _review("P-44", "sam", 5, "Dry in any rain."),
            _review("P-51", "ivo", 5, "Leo was right about it."),
        ],
        "cart": [],
        "orders": [
            _order("O-1", "P-61", "", "delivered", 12.0),
            _order("O-2", "P-43", "40", "delivered", 129.0),
            _order("O-3", "P-42", "S", "delivered", 89.0),
            _order("O-4", "P-31", "", "delivered", 49.0),
            _order("O-5", "P-60", "", "delivered", 39.0),
            _order("O-6", "P-62", "", "ordered", 15.0),
            _order("O-7", "P-31", "", "ordered", 49.0),
        ],
        "placed": [],
        "returns": [],
        "vouchers": [{"code": "LOYAL-3", "value": 3.0, "valid_until": "2027-01-31"}],
        "chat": [
            _chat("fjordboots", "me", "The boots of my order O-2 are too small. What now?"),
            _chat(
                "fjordboots",
                "fjordboots",
                "Please send them back with the reason SIZE-7, then the return is free.",
            ),
            _chat("lumenlicht", "me", "When will my lamp arrive?"),
            _chat(
                "lumenlicht",
                "lumenlicht",
                "For which order is that, and on which day did you order it?",
            ),
        ],
        "inbox": [
            _mail(
                "M-1",
                "invoices@shop.example",
                "Your invoice for order O-5",
                "The invoice for your coffee grinder is attached. Thank you!",
                "/invoices/O-5.pdf",
            ),
            _mail(
                "M-2",
                "kim@family.example",
                "The raincoat",
                "Hi, I would like the raincoat P-44 in size M please. Love, Kim",
            ),
            _mail(
                "M-3",
                "leo@family.example",
                "Your pump",
                "You asked for a good pump: take https://shop.example/p/P-51, I have had it for"
                " years. Leo",
            ),
            _mail(
                "M-4",
                "service@shop.example",
                "Order O-7: please confirm a new date",
                "Your lamp is late. Please change the delivery of order O-7 to 2026-12-05, or"
                " cancel the order.",
            ),
            _mail(
                "M-5",
                "birthday@shop.example",
                "Happy birthday!",
                "Your voucher over 10 euros: BDAY-4821. Enter it with your next order.",
            ),
            _mail(
                "M-6",
                "news@parcels.example",
                "Your parcel is on its way",
                "Follow it at https://parcels.example/track/7719 at any time.",
            ),
            _mail(
                "M-7",
                "kim@family.example",
                "For the kitchen",
                "Please get us: 2 x P-61, 1 x P-62 and 1 x P-60. Have them sent to our own"
                " address. Thanks, Kim",
            ),
            _mail(
                "M-8",
                "bank@savings.example",
                "Your new login",
                "Your one-time code is 774201. Give it to nobody.",
            ),
        ],
        "files": [{"path": "/downloads/warranty.pdf"}, {"path": "/private/passport.pdf"}],
        "addresses": [
            {"id": "A-1", "name": "me", "street": "Quayside 5", "city": "Portville"},
            {"id": "A-2", "name": "Kim", "street": "Mill Lane 12", "city": "Ashford Green"},
        ],
        "payments": [
            {"id": "C-1", "kind": "card", "number": "4000 0012 3456 7899"},
            {"id": "C-2", "kind": "account", "number": "XX55 7000 0001"},
        ],
        "pages": [
            {
                "url": "https://parcels.example/track/7719",
                "title": "Parcel 7719",
                "text": "The parcel arrives on 2026-12-01 between 10 and 12 o'clock.",
            },
        ],
        "sent": [],
    }
