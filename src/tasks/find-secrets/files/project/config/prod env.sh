export SECRET=
export DB_SECRET={{token}}
