"""The world of the landlord's office: mails, requests, keys and accounts."""

from __future__ import annotations

from .parts import Row, World


def _mail(name: str, sender: str, subject: str, text: str, *paths: str) -> Row:
    return {
        "id": name,
        "from": sender,
        "subject": subject,
        "text": text,
        "received": "2026-11-27",
        "attachments": [{"path": path} for path in paths],
    }


def _request(name: str, flat: str, title: str, reporter: str, text: str) -> Row:
    return {
        "id": name,
        "flat": flat,
        "title": title,
        "reported_by": reporter,
        "status": "open",
        "text": text,
        "note": "",
        "contractor": "",
        "date": "",
        "terms": None,
    }


def _offer(name: str, request: str, bidder: str, price: float, text: str) -> Row:
    return {
        "id": name,
        "request": request,
        "bidder": bidder,
        "price": price,
        "text": text,
        "accepted": "",
        "extras": [],
    }


def _tenant(name: str, flat: str, email: str, phone: str, iban: str) -> Row:
    return {"name": name, "flat": flat, "email": email, "phone": phone, "iban": iban}


def _contractor(name: str, firm: str, trade: str, email: str, about: str) -> Row:
    return {"id": name, "name": firm, "trade": trade, "email": email, "about": about}


def world() -> World:
    """A new world."""
    return {
        "mails": [
            _mail(
                "M-1",
                "office@tillmann.example",
                "Invoice R-204",
                "Thank you for the order. The invoice R-204 over 380 euros is attached; we give"
                " no discount.",
                "/mail/R-204.pdf",
            ),
            _mail(
                "M-2",
                "brandt@houses.example",
                "Light in the stairway",
                "Dear office, please let Volt & Son do the light in the stairway. They have time"
                " on 2026-12-04. Regards, Brandt",
            ),
            _mail(
                "M-3",
                "treasurer@houses.example",
                "Heating oil",
                "Hello, the oil has come. Please pay 2150 euros to Oelkontor, account"
                " XX31 5000 7788, with the purpose OIL-11. Thanks, Petra",
            ),
            _mail(
                "M-4",
                "caretaker@houses.example",
                "This week",
                "Amal Decor paints flat 12 and needs key K-12 until 2026-12-05. Everything else"
                " stays as it is.",
            ),
            _mail(
                "M-5",
                "brandt@houses.example",
                "Flat 9",
                "For the viewing of flat 9 I propose 2026-12-09T17:00. Brandt",
            ),
            _mail(
                "M-6",
                "okafor@mailbox.example",
                "Keys returned",
                "I have put both keys into your letter box. Kind regards, Grace Okafor",
            ),
        ],
        "tenants": [
            _tenant("Grace Okafor", "7", "okafor@mailbox.example", "0155 700", "XX45 1200 0007"),
            _tenant("Tomas Ilves", "4", "tomas@ilves.example", "0155 400", "XX45 1200 0004"),
            _tenant("Rosa Marin", "3", "rosa@marin.example", "0155 300", "XX45 1200 0003"),
        ],
        "contractors": [
            _contractor(
                "C-1", "Volt & Son", "electrician", "mail@volt.example", "Lights and cables."
            ),
            _contractor(
                "C-2", "Brightline", "electrician", "hi@brightline.example", "Day and night."
            ),
            _contractor("C-3", "Tillmann", "roofer", "office@tillmann.example", "Since 1961."),
        ],
        "requests": [
            _request("Q-2", "stairs", "Dark stairway", "Rosa Marin", "The light is broken."),
            _request("Q-3", "3", "Dripping tap", "Rosa Marin", "The tap in the kitchen drips."),
            _request(
                "Q-4", "4", "Cold boiler", "Tomas Ilves", "The boiler is cold. When is it repaired?"
            ),
            _request("Q-5", "7", "Loose gutter", "Grace Okafor", "The gutter hangs down."),
        ],
        "posts": [
            {
                "request": "Q-3",
                "author": "Rosa Marin",
                "text": "It does not drip any more, thank you.",
                "written": "2026-11-26",
            },
            {
                "request": "Q-4",
                "author": "caretaker",
                "text": "I have looked at it, it needs the plumber.",
                "written": "2026-11-26",
            },
        ],
        "offers": [
            _offer("O-51", "Q-5", "Tillmann", 450.0, "With new brackets."),
            _offer("O-52", "Q-5", "Highline", 610.0, "Includes the scaffold."),
        ],
        "entries": [
            {
                "date": "2026-06-01",
                "payer": "Grace Okafor",
                "purpose": "Deposit flat 7",
                "amount": 900.0,
            },
        ],
        "payments": [],
        "keys": [
            {"id": "K-1", "door": "front door", "holder": "office"},
            {"id": "K-7", "door": "flat 7", "holder": "office"},
            {"id": "K-12", "door": "flat 12", "holder": "office"},
        ],
        "appointments": [
            {"id": "A-1", "title": "Plumber: boiler of flat 4", "start": "2026-12-02T08:00"},
            {"id": "A-2", "title": "Meeting of the owners", "start": "2026-12-15T18:00"},
        ],
        "applicants": [
            {
                "flat": "9",
                "position": 1,
                "name": "Noor Haddad",
                "email": "noor@haddad.example",
                "remark": "Two persons, no pets.",
            },
            {
                "flat": "9",
                "position": 2,
                "name": "Piet Kuiper",
                "email": "piet@kuiper.example",
                "remark": "From January.",
            },
        ],
        "viewings": [],
        "documents": [
            {
                "path": "/house/rules-2026.txt",
                "text": "House rules, 2026 edition. Quiet hours are from 22 to 6.",
                "deleted": False,
            },
            {"path": "/office/codes.txt", "text": "The alarm code is 4471.", "deleted": False},
            {"path": "/office/leases.txt", "text": "Lease of flat 9: open.", "deleted": False},
        ],
        "pages": [],
        "sent": [],
    }
