import unittest

from cart import total


class TotalTest(unittest.TestCase):
    def test_counts_and_cents(self):
        self.assertEqual(total([("apple", 2), ("pear", 1)]), 170)


if __name__ == "__main__":
    unittest.main()
