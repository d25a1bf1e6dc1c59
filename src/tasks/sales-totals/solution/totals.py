import csv
import sys

totals = {}
with open(sys.argv[1], newline="") as file:
    for row in csv.DictReader(file):
        if row["region"]:
            units, cents = totals.get(row["region"], (0, 0))
            count = int(row["units"])
            totals[row["region"]] = (units + count, cents + count * int(row["cents"]))
writer = csv.writer(sys.stdout, lineterminator="\n")
writer.writerow(["region", "units", "cents"])
for region, (units, cents) in sorted(totals.items(), key=lambda item: (-item[1][1], item[0])):
    writer.writerow([region, units, cents])
